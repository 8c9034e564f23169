/** Quotes a text so that a shell reads it as one word. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
