/**
 * The native launcher: a zygote that forks a launcher for each request, and the helper itself to enter runs.
 *
 * Guarantees: a zygote that has ended is replaced for the next request. A request whose answer is lost is sent again: the launcher
 * that claims the run first starts it, and any other ends without a trace, so it is never started twice. If the helper fails
 * three times for one request, sh starts this run and all later ones.
 */
import { accessSync, constants } from "node:fs";
import { getSystemErrorName } from "node:util";
import { errorCode } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { StartError } from "../types.ts";
import { encodeRequest, maxRequestBytes } from "./request.ts";
import { shEntrance } from "./sh.ts";
import type {
  CopyRequest,
  EnterOptions,
  Entrance,
  Entry,
  Launcher,
  LauncherState,
  LaunchRequest,
} from "./types.ts";
import { Zygote } from "./zygote.ts";

const attempts = 3;

export interface NativeOptions {
  path: string;
  log: Logger;
  /** Creates the launcher that is used once this one has failed. */
  fallback: (why: string) => Launcher;
  startZygote?: (path: string) => Promise<Zygote>;
}

export class NativeLauncher implements Launcher {
  readonly #options: NativeOptions;
  #zygote: Promise<Zygote> | undefined;
  #instead: Launcher | undefined;

  constructor(options: NativeOptions) {
    this.#options = options;
  }

  get state(): LauncherState {
    return this.#instead?.state ?? { kind: "native", message: this.#options.path };
  }

  /** The pid of the zygote that serves the next request. */
  async pid(): Promise<number> {
    return (await this.#open()).pid;
  }

  async start(request: LaunchRequest): Promise<void> {
    // Old runs are never started again, so the user is always known here.
    const bytes = encodeRequest(request);
    if (!bytes) {
      const message = `the command is longer than ${maxRequestBytes} bytes, which no program can get`;
      throw new StartError("LaunchFailed", message);
    }
    for (let attempt = 1; !this.#instead; attempt++) {
      try {
        const answer = await (await this.#open()).request(bytes);
        if (answer > 0) return;
        throw new StartError("LaunchFailed", `cannot fork a launcher: ${getSystemErrorName(answer)}`);
      } catch (error) {
        if (error instanceof StartError) throw error;
        this.#options.log.warn("the native launcher failed", { attempt, error });
        if (attempt === attempts) this.#giveUp(error);
      }
    }
    await this.#instead.start(request);
  }

  enterCommand(entry: Entry, command: string[], options?: EnterOptions): string[] {
    return (this.#instead ?? nativeEntrance(this.#options.path)).enterCommand(entry, command, options);
  }

  copyCommand({ mark, log, pipe, source }: CopyRequest): string[] {
    return [this.#options.path, "copy", mark, log, pipe, source];
  }

  close(): void {
    this.#zygote?.then((zygote) => zygote.close(), () => {});
    this.#zygote = undefined;
    this.#instead?.close();
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
      if (zygote.end === undefined) return zygote;
    } catch (error) {
      forget();
      throw error;
    }
    forget();
    return await this.#open();
  }

  #giveUp(error: unknown): void {
    const why = `${this.#options.path} fails: ${errorCode(error)}`;
    this.#instead ??= this.#options.fallback(why);
    this.#options.log.error("starting apps with sh from now on", { why });
  }
}

/** Enters runs by the helper; by sh those that older agents started, and all while the helper cannot be executed. */
export function nativeEntrance(path: string): Entrance {
  return {
    enterCommand(entry, command, options = {}) {
      const { leaf, environment, workingDir, user } = entry;
      if (user === undefined || !isExecutable(path)) return shEntrance.enterCommand(entry, command, options);
      const session = options.onTerminal ? "same-session" : "new-session";
      const { log = "", output: { pipe = "", source = "" } = {} } = options;
      return [path, "enter", session, leaf, log, pipe, source, environment, workingDir, user, ...command];
    },
  };
}

/** Somebody may have removed the file, or mounted its file system again without execution. */
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
