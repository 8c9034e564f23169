/** Installs a real part by test/harness/install-parts.sh, where that is possible. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { executable } from "../../test/harness/parts.ts";
import { checkout } from "../checkout.ts";
import { endGroup } from "./process-group.ts";

/** How a part is installed. */
export interface InstallOptions {
  /** Hears each message of the installer. */
  hear: (message: string) => void;
  /** Ends the installer with all its processes. */
  signal: AbortSignal;
  script?: string;
}

/** Returns why nothing can be installed here; undefined if it can. */
export function whyNotInstall(env = process.env, uid = process.getuid?.()): string | undefined {
  if (uid !== 0) return "that takes root";
  const folders = (env.PATH ?? "").split(delimiter);
  return folders.some((folder) => executable(join(folder, "apt-get")))
    ? undefined
    : "there is no apt-get here";
}

/** Installs a part, if it is not there; returns the last lines of errors if that failed, the reason as the last. */
export async function installPart(
  part: string,
  { hear, signal, script = join(checkout, "test/harness/install-parts.sh") }: InstallOptions,
): Promise<string[] | undefined> {
  if (signal.aborted) return ["interrupted"];
  const child = spawn("bash", [script, part], { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const stop = () => endGroup(child, "SIGTERM");
  signal.addEventListener("abort", stop);
  const errors: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => hear(line.replace(/^install-parts: /, "")));
  createInterface({ input: child.stderr }).on("line", (line) => errors.push(line));
  const [code, ended] = await once(child, "close") as [number | null, string | null];
  signal.removeEventListener("abort", stop);
  if (code === 0) return undefined;
  return errors.length > 0 ? errors : [`install-parts.sh ended with ${ended ?? `code ${code}`}`];
}
