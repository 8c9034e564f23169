/**
 * How commands talk to the agent of this node: over its unix socket. The error for an unknown app suggests a similar name.
 */
import type { NCApp } from "../../api/types.ts";
import { closest } from "../../lib/closest.ts";
import type { AppEventView, HistoryEntry, StatusAnswer } from "../../server/view.ts";
import { type AppName, fullName, nameOf } from "../app-name.ts";
import type { Flag, Invocation, Io } from "../command.ts";
import { defaultPaths, findSocket } from "../config/config.ts";
import { AgentError, askAgent, jsonLines, streamFromAgent } from "./ask-agent.ts";

export { NoAgentError } from "./ask-agent.ts";

/** An NCApp as the agent reports it, with what only its node knows. */
export type NodeApp = NCApp & {
  agent?: {
    source?: string;
    origin?: string;
    logFile?: string;
    /** The id of the run, while the app runs. */
    run?: string;
  };
};

export interface AgentClient {
  status(): Promise<AgentStatus>;
  /** Resolves to the link that opens the dashboard. */
  dashboard(): Promise<string>;
  list(): Promise<NodeApp[]>;
  /** What happened to apps, oldest first: the last events of each, or all since then. */
  events(query?: { app?: AppName; sinceSeconds?: number }): Promise<AppEventView[]>;
  /** Everything that is known to have happened to an app, also to one that was removed. */
  history(app: AppName, sinceSeconds?: number): Promise<HistoryEntry[]>;
  find(app: AppName): Promise<NodeApp | undefined>;
  get(app: AppName): Promise<NodeApp>;
  /** The app now and after each change, undefined when it is gone. May end earlier, such as when too many clients watch. */
  watch(app: AppName, signal: AbortSignal): AsyncGenerator<NodeApp | undefined>;
  /** Stores an app; a dry run only says what that would change. */
  put(app: NCApp, options?: { dryRun?: boolean }): Promise<PutOutcome>;
  remove(app: AppName): Promise<void>;
  /** Resolves when the agent has carried it out (reload), or knows of it (the others). */
  act(app: AppName, verb: "restart" | "stop" | "start" | "reload" | "trigger" | "undo"): Promise<void>;
  /** The log; with `follow` until the signal aborts or the app is gone. */
  logs(app: AppName, options: LogOptions): AsyncGenerator<Uint8Array>;
}

/** What the agent gives a reload command (supervisor/runner/reload.ts), and some time for itself. */
const reloadTimeoutMs = 75_000;

/** What a put changed, or would change. */
export interface PutOutcome {
  change: "created" | "configured" | "unchanged";
  /** It makes the app restart. */
  restarts?: boolean;
  warnings?: string[];
  /** Only in a dry run: why the agent would refuse it, since it is to be changed elsewhere. */
  refused?: string;
  /** The app as desired now, with its status. */
  app: NodeApp;
}

/** Which lines of a log, as in `kubectl logs`. */
export interface LogChoice {
  tailLines?: number;
  follow?: boolean;
  /** Follow only until the app has ended. The agent's own parameter. */
  untilEnd?: boolean;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  previous?: boolean;
  /** The id of the run whose lines are wanted. The agent's own parameter. */
  run?: string;
  timestamps?: boolean;
  limitBytes?: number;
}

export interface LogOptions extends LogChoice {
  signal: AbortSignal;
}

/** What commands read of the agent's `/status`. */
export type AgentStatus = Omit<StatusAnswer, "size" | "usage" | "apps">;

export const socketFlag: Flag = {
  value: "PATH",
  help: "Unix socket of the agent. Also read from NCKUBELET_SOCKET and the agent's config.",
  default: defaultPaths.socket,
};

/** The flags of every command that takes an APP. */
export const appFlags: Record<string, Flag> = {
  namespace: { short: "n", value: "NAME", help: "Namespace of the app.", default: "default" },
  socket: socketFlag,
};

/** Connects to the agent that the flags, the environment or the agent's config file name. */
export async function connectAgent({ flags }: Invocation, { env }: Io): Promise<AgentClient> {
  return createAgentClient(await findSocket(flags, env));
}

export function createAgentClient(socket: string): AgentClient {
  const list = async () => (await askAgent<{ items: NodeApp[] }>(socket, "/apps")).items;
  const status = () => askAgent<AgentStatus>(socket, "/status");
  const find = async (app: AppName) => {
    try {
      return await askAgent<NodeApp>(socket, appPath(app));
    } catch (error) {
      if (error instanceof AgentError && error.status === 404) return undefined;
      throw error;
    }
  };
  /** A 404 is about the app, unless the app exists. */
  const explained = async (app: AppName, error: unknown) => {
    const isUnknown = error instanceof AgentError && error.status === 404 && !await find(app);
    return isUnknown ? unknownApp(app, await list(), (await status()).problems) : error;
  };
  const onApp = async <T>(app: AppName, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw await explained(app, error);
    }
  };
  return {
    status,
    dashboard: async () => (await askAgent<{ url: string }>(socket, "/dashboard-url")).url,
    list,
    async events({ app, sinceSeconds } = {}) {
      const query = queryOf({ app: app && fullName(app), sinceSeconds });
      const { items } = await askAgent<{ items: AppEventView[] }>(socket, `/events?${query}`);
      return items.sort((a, b) => a.lastTimestamp < b.lastTimestamp ? -1 : 1);
    },
    history: (app, sinceSeconds) =>
      onApp(app, async () => {
        const path = `${appPath(app)}/history?${queryOf({ sinceSeconds })}`;
        return (await askAgent<{ items: HistoryEntry[] }>(socket, path)).items;
      }),
    find,
    get: (app) => onApp(app, () => askAgent<NodeApp>(socket, appPath(app))),
    async *watch(app, signal) {
      try {
        const stream = streamFromAgent(socket, `${appPath(app)}?watch=true`, signal);
        for await (const line of jsonLines(stream, signal)) {
          const { type, object } = line as { type: string; object: NodeApp };
          yield type === "DELETED" ? undefined : object;
        }
      } catch (error) {
        if (!(error instanceof AgentError) || ![404, 429].includes(error.status)) throw error;
        yield await find(app);
      }
    },
    async put(app, { dryRun = false } = {}) {
      const path = `${appPath(nameOf(app))}${dryRun ? "?dryRun=All" : ""}`;
      const { outcome, ...stored } = await askAgent<NodeApp & { outcome: Omit<PutOutcome, "app"> }>(
        socket,
        path,
        { method: "PUT", body: app },
      );
      return { ...outcome, app: stored };
    },
    remove: (app) => onApp(app, async () => void await askAgent(socket, appPath(app), { method: "DELETE" })),
    act: (app, verb) =>
      onApp(app, async () => {
        const timeoutMs = verb === "reload" ? reloadTimeoutMs : undefined;
        await askAgent(socket, `${appPath(app)}/${verb}`, { method: "POST", timeoutMs });
      }),
    async *logs(app, { signal, ...choice }) {
      try {
        yield* streamFromAgent(socket, logPath(app, choice), signal);
      } catch (error) {
        throw await explained(app, error);
      }
    },
  };
}

function appPath({ namespace, name }: AppName): string {
  return `/apps/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path of a log at the HTTP endpoint of an agent. */
export function logPath(app: AppName, choice: LogChoice): string {
  return `${appPath(app)}/logs?${logQuery(choice)}`;
}

/** The query for a log: the parameters have the same names at agents and in the API of Pods. */
export function logQuery(choice: LogChoice): URLSearchParams {
  return queryOf({ ...choice });
}

function queryOf(parameters: Record<string, string | number | boolean | undefined>): URLSearchParams {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

/** Says why the app is not there, or suggests one with a similar name, or with the same name in another namespace. */
function unknownApp(
  { namespace, name }: AppName,
  apps: NodeApp[],
  problems: AgentStatus["problems"],
): Error {
  const key = fullName({ namespace, name });
  const invalid = problems.find(({ app }) => app === key);
  if (invalid) return new Error(`no app ${key} on this node: its manifest is invalid: ${invalid.message}`);
  const known = apps.map(nameOf);
  const near = closest(name, known.filter((app) => app.namespace === namespace).map((app) => app.name));
  const meant = near ? { namespace, name: near } : known.find((app) => app.name === name);
  const next = meant ? `did you mean ${fullName(meant)}?` : "'nckubelet ps' lists the apps of this node";
  return new Error(`no app ${key} on this node; ${next}`);
}
