/** Runs promtool of Prometheus. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { findProgram, skipUnless } from "../harness/parts.ts";

const found = findProgram("promtool");

/** Why there is none here, or false. */
export const noPromtool: string | false = skipUnless("promtool");

/** Its exit code and all that it said. */
export async function promtool(
  words: string[],
  input = "",
  cwd?: string,
): Promise<{ code: number; said: string }> {
  if ("missing" in found) throw new Error(found.missing);
  const child = spawn(found.path, words, { cwd, stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => said += text);
  }
  child.stdin.end(input);
  const [code] = await once(child, "close");
  return { code, said };
}
