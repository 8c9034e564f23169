import process from "node:process";
import manifest from "../../package.json" with { type: "json" };

export const version: string = manifest.version;

/** Returns the name and version of the JavaScript runtime, such as `node 26.0.0`. */
export function runtimeVersion(): string {
  const { deno, node } = process.versions;
  return deno ? `deno ${deno}` : `node ${node}`;
}
