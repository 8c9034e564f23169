/** The headers of an answer, by their names in small letters. */
export type Headers = Record<string, string | string[] | undefined>;

/** The value of a header as one text. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
