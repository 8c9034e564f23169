/** RFC 3339 with whole seconds, as Kubernetes writes times. */
export function isoSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}
