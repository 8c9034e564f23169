/** Runs promtool of Prometheus, where there is one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import process from "node:process";

const path = [process.env.PROMTOOL ?? "", "/usr/bin/promtool"].find((path) => existsSync(path));

/** Why there is none here, or false. */
export const noPromtool: string | false = !path &&
  "no promtool here: apt-get install prometheus, or name one by PROMTOOL";

/** Its exit code and all that it said. */
export async function promtool(
  words: string[],
  input = "",
  cwd?: string,
): Promise<{ code: number; said: string }> {
  const child = spawn(path!, words, { cwd, stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => said += text);
  }
  child.stdin.end(input);
  const [code] = await once(child, "close");
  return { code, said };
}
