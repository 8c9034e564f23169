/**
 * Starts the launchers of runs and enters runs.
 *
 * A launcher is one small process per run that outlives the agent: it claims the run, starts the script in its cgroup as its user,
 * copies its output to the log, and writes down how it ended. It is a program of its own (launcher/launcher.c, installed by helper.ts),
 * forked by a zygote (zygote.ts) for the price of fork and exec.
 *
 * Guarantees: a zygote that has ended is replaced for the next request. A request whose answer is lost is sent again: the launcher
 * that claims the run first starts it, and any other ends without a trace, so it is never started twice.
 */
import { existsSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { errorCode } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { StartError } from "../types.ts";
import { findHelper, type Helper, installHelper } from "./helper.ts";
import { createLooker } from "./look.ts";
import { readUserFile } from "./read-file.ts";
import { encodeRequest, maxRequestBytes } from "./request.ts";
import type {
  CopyRequest,
  EnterOptions,
  Entrance,
  Launcher,
  LaunchRequest,
  ProcessContext,
  UserFiles,
} from "./types.ts";
import { Zygote } from "./zygote.ts";

export { hasHelper, installHelper } from "./helper.ts";
export { userField } from "./request.ts";
export { Zygote } from "./zygote.ts";
export type {
  EnterOptions,
  Entrance,
  Launcher,
  LauncherState,
  LaunchRequest,
  PipeRef,
  ProcessContext,
  UserFiles,
} from "./types.ts";

const attempts = 3;

/** Opens the launcher of this program. One that cannot be executed refuses every start, and says why. */
export async function openLauncher(
  { stateDir, log, install = installHelper }: {
    stateDir: string;
    log: Logger;
    install?: (stateDir: string) => Promise<Helper>;
  },
): Promise<Launcher> {
  const helper = await install(stateDir);
  if (helper.path === undefined) {
    log.error("no app can start", { why: helper.why });
    return noLauncher(helper.why);
  }
  // Checked again for each zygote: the file may have been changed or removed since.
  const startZygote = async () => {
    const again = await install(stateDir);
    if (again.path === undefined) throw new Error(again.why);
    return await Zygote.start(again.path);
  };
  return new ZygoteLauncher({ path: helper.path, log, startZygote });
}

/** Returns what enters the runs of the agent with this state folder, for programs other than the agent. */
export async function findEntrance(stateDir: string): Promise<Entrance> {
  const helper = await findHelper(stateDir);
  return helper.path === undefined ? noLauncher(helper.why) : entranceOf(helper.path);
}

/** Enters runs by the program at this path. */
export function entranceOf(path: string): Entrance {
  return {
    enterCommand({ leaf, environment, workingDir, user }, command, options = {}) {
      const session = options.onTerminal ? "same-session" : "new-session";
      const { log = "", output: { pipe = "", source = "" } = {} } = options;
      const report = options.reports ? "3" : "";
      const place = [leaf, log, pipe, source, environment, workingDir, user];
      return [path, "enter", session, report, ...place, ...command];
    },
  };
}

export interface ZygoteLauncherOptions {
  path: string;
  log: Logger;
  startZygote?: (path: string) => Promise<Zygote>;
}

export class ZygoteLauncher implements Launcher {
  readonly #options: ZygoteLauncherOptions;
  readonly #looker = createLooker({ command: () => [this.#file, "look"] });
  readonly look: UserFiles["look"] = this.#looker.look;
  #zygote: Promise<Zygote> | undefined;
  #pid: number | undefined;

  constructor(options: ZygoteLauncherOptions) {
    this.#options = options;
  }

  get state() {
    return { kind: "native", message: this.#options.path } as const;
  }

  /** The pid of the zygote that serves the next request. */
  async pid(): Promise<number> {
    return (await this.#open()).pid;
  }

  async start(request: LaunchRequest): Promise<void> {
    const bytes = encodeRequest(request);
    if (!bytes) {
      const message = `the command is longer than ${maxRequestBytes} bytes, which no program can get`;
      throw new StartError("LaunchFailed", message);
    }
    for (let attempt = 1;; attempt++) {
      try {
        const answer = await (await this.#open()).request(bytes);
        if (answer > 0) return;
        throw new StartError("LaunchFailed", `cannot fork a launcher: ${getSystemErrorName(answer)}`);
      } catch (error) {
        if (error instanceof StartError) throw error;
        this.#options.log.warn("the launcher failed", { attempt, error });
        if (attempt < attempts) continue;
        const message = `${this.#options.path} fails: ${errorCode(error)}`;
        throw new StartError("LaunchFailed", message, { cause: error });
      }
    }
  }

  enterCommand(context: ProcessContext, command: string[], options?: EnterOptions): string[] {
    return entranceOf(this.#file).enterCommand(context, command, options);
  }

  copyCommand({ mark, log, pipe, source }: CopyRequest): string[] {
    return [this.#file, "copy", mark, log, pipe, source];
  }

  async read(
    path: string,
    { user, label }: { user: string; label: string },
    onChunk: (chunk: Uint8Array) => void,
  ): Promise<void> {
    await readUserFile([this.#file, "read", user, path], onChunk, { label });
  }

  /** Somebody may have removed the file: the zygote still has it. */
  get #file(): string {
    const { path } = this.#options;
    return this.#pid === undefined || existsSync(path) ? path : `/proc/${this.#pid}/exe`;
  }

  close(): void {
    this.#looker.close();
    this.#zygote?.then((zygote) => zygote.close(), () => {});
    this.#zygote = undefined;
  }

  /** Returns the zygote that all requests share, or a new one if it has ended. */
  async #open(): Promise<Zygote> {
    const { path, startZygote = Zygote.start } = this.#options;
    const opened = this.#zygote ??= startZygote(path);
    const forget = () => {
      // Another request may have replaced it meanwhile.
      if (this.#zygote === opened) this.#zygote = undefined;
    };
    try {
      const zygote = await opened;
      this.#pid = zygote.pid;
      if (zygote.end === undefined) return zygote;
    } catch (error) {
      forget();
      throw error;
    }
    forget();
    return await this.#open();
  }
}

/** In place of a launcher that cannot be had. What runs already is not affected. */
function noLauncher(why: string): Launcher {
  const refuse = () => Promise.reject(new StartError("LaunchFailed", `no app can start: ${why}`));
  return {
    state: { kind: "none", message: why },
    start: refuse,
    look: refuse,
    read: refuse,
    enterCommand() {
      throw new Error(why);
    },
    copyCommand: () => undefined,
    close() {},
  };
}
