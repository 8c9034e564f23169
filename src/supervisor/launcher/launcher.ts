/**
 * Starts the launchers of runs and enters runs.
 *
 * A launcher is one small process per run that outlives the agent: it claims the run, starts the script in its cgroup as its user,
 * and writes down how it ended. There are two, with one contract: the native one (launcher/launcher.c, forked by a zygote, for the
 * price of fork and exec) and the sh one (launcher-script.ts), which needs nothing but sh, setsid, setpriv and cat. Both leave the
 * same marks and read the same files, so agents adopt each other's runs whichever launcher they use.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Logger } from "../../lib/log.ts";
import { findHelper, type Helper, installHelper } from "./helper.ts";
import { nativeEntrance, NativeLauncher } from "./native.ts";
import { createShLauncher, shEntrance } from "./sh.ts";
import type { Entrance, Launcher } from "./types.ts";
import { Zygote } from "./zygote.ts";

export { hasHelper } from "./helper.ts";
export { exitPlaceholder } from "./launcher-script.ts";
export { userField } from "./request.ts";
export { createShLauncher, privilegeCommand, shEntrance } from "./sh.ts";
export type {
  EnterOptions,
  Entrance,
  Entry,
  Launcher,
  LauncherState,
  LaunchRequest,
  PipeRef,
} from "./types.ts";

/** Opens the best launcher that works here. */
export async function openLauncher(
  { stateDir, log, install = installHelper }: {
    stateDir: string;
    log: Logger;
    install?: (stateDir: string) => Promise<Helper>;
  },
): Promise<Launcher> {
  const fallback = (why: string) => createShLauncher({ stateDir, why });
  const helper = await install(stateDir);
  if (helper.path === undefined) return fallback(`no native launcher: ${helper.why}`);
  // Checked again for each zygote: the file may have been changed or removed since.
  const startZygote = async () => {
    const again = await install(stateDir);
    if (again.path === undefined) throw new Error(again.why);
    return await Zygote.start(again.path);
  };
  const native = new NativeLauncher({ path: helper.path, log, fallback, startZygote });
  try {
    await native.pid();
    return native;
  } catch (error) {
    native.close();
    const why = `cannot execute ${helper.path}: ${(error as Error).message}`;
    log.warn("starting apps with sh", { why });
    return fallback(why);
  }
}

/** Returns what enters the runs of the agent with this state folder, for programs other than the agent. */
export async function findEntrance(stateDir: string): Promise<Entrance> {
  const { path } = await findHelper(stateDir);
  return path !== undefined && await canExecute(path) ? nativeEntrance(path) : shEntrance;
}

/** The state folder may be on a file system without execution. With no request to check, the helper only exits. */
async function canExecute(path: string): Promise<boolean> {
  const child = spawn(path, ["check", "requests"], { stdio: "ignore", timeout: 10_000 });
  const [code] = await once(child, "exit").catch(() => []) as [code?: number | null];
  return code === 0;
}
