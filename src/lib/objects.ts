/** Reports whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a copy without the fields that are null. Clients in Go send `creationTimestamp: null`. */
export function withoutNulls(fields: { [name: string]: unknown }): { [name: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Returns a copy without the fields that are undefined, which stays equal when written to JSON and read back. */
export function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
