/** What a launcher gets and does; launcher.ts tells the story. */

/** How commands enter a run: in its cgroup, as its user, with its environment, in its folder. */
export interface ProcessContext {
  /** The cgroup of the run; "" for none. */
  leaf: string;
  /** `UID GID GROUP...`; "" for the agent's own user. */
  user: string;
  workingDir: string;
  /** The path of its environment file. */
  environment: string;
}

export interface LaunchRequest {
  /** The path of the run's marks without their endings. */
  mark: string;
  /** The cgroup of launchers; "" for none. */
  keeper: string;
  /** The folder of the log. */
  log: string;
  context: ProcessContext;
  command: string[];
}

/** The pipe of a run. */
export interface PipeRef {
  /** As /proc names it. */
  pipe: string;
  /** The path of a descriptor in /proc that is the pipe, unless its process has changed it since. */
  source: string;
}

export interface EnterOptions {
  /** The folder of the log that gets the output; none by default. */
  log?: string;
  /** Where the output goes on its way to the log, if it is there. */
  output?: PipeRef;
  /** The command has a terminal, and with it a session: it gets no new one. */
  onTerminal?: boolean;
  /** Descriptor 3 gets the reason if the command cannot be executed. */
  reports?: boolean;
}

/** What a copier needs to know. */
export interface CopyRequest extends PipeRef {
  /** The path of the run's marks without their endings. */
  mark: string;
  /** The folder of the log. */
  log: string;
}

/** Whether apps can start: the path of the launcher, or why there is none. */
export interface LauncherState {
  kind: "native" | "none";
  message: string;
}

/** Builds the command lines that enter runs. */
export interface Entrance {
  /** The command line that becomes `command` inside of the run. */
  enterCommand(context: ProcessContext, command: string[], options?: EnterOptions): string[];
}

/** What is at a path, as a user sees it. */
export interface Look {
  /** "missing" also means that it cannot be examined; "unreadable" is a file that cannot be opened. */
  kind: "file" | "folder" | "other" | "missing" | "unreadable";
  /** Whether the user may execute the file, or enter the folder. */
  executable: boolean;
  /** The first bytes of a file, at most 4096. */
  head: Uint8Array;
  /** The name of the error, if it is missing or unreadable. */
  error?: string;
}

/** Touches paths that users name, with the rights of a user: `UID GID GROUP...`; "" for the agent's own. */
export interface UserFiles {
  /** `label` names the path in messages. */
  look(path: string, options: { user: string; label: string; signal?: AbortSignal }): Promise<Look>;
  /** Passes a regular file to `onChunk`, piece by piece. */
  read(
    path: string,
    options: { user: string; label: string },
    onChunk: (chunk: Uint8Array) => void,
  ): Promise<void>;
}

/** Starts runs, enters them, and reads what users name. */
export interface Launcher extends Entrance, UserFiles {
  readonly state: LauncherState;
  /**
   * Starts the launcher of a run; resolves when it exists. A StartError means that it may exist nevertheless: the caller cancels
   * the run, and the claim decides.
   */
  start(request: LaunchRequest): Promise<void>;
  /** The command line of a copier, in place of a launcher that was killed; undefined if there is none. */
  copyCommand(request: CopyRequest): string[] | undefined;
  /** Ends what belongs to the agent. Launchers and apps run on. */
  close(): void;
}
