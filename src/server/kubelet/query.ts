/** Reads query strings as the kubelet does: what is unknown is ignored, since newer API servers send more. */
import { Refusal } from "../refusal.ts";

/** Returns one parameter, read by a function that throws an Error; undefined if it is absent or empty. */
export function readParameter<T>(
  url: URL,
  name: string,
  read: (value: string) => T,
): T | undefined {
  const value = url.searchParams.get(name);
  if (value === null || value === "") return undefined;
  try {
    return read(value);
  } catch (error) {
    // Escaped, a byte may take six.
    const shown = JSON.stringify(value.slice(0, 100)).slice(0, 120);
    throw new Refusal(400, `query parameter ${name}: Invalid value: ${shown}: ${(error as Error).message}`);
  }
}
