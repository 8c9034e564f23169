/**
 * How commands talk to agents: to that of this node over its unix socket, to those of other nodes over TLS. The error for an
 * unknown app suggests a similar name.
 */
import type { NCApp } from "../../api/types.ts";
import { closest } from "../../lib/closest.ts";
import { type AppName, fullName, nameOf } from "../app-name.ts";
import type { Flag, Invocation, Io } from "../command.ts";
import { defaultPaths, findSocket } from "../config/config.ts";
import { AgentError, askAgent, streamFromAgent } from "./ask-agent.ts";

export { endpointAddresses, type NodeEndpoint, streamFromNode } from "./node-endpoint.ts";

/** An NCApp as the agent reports it, with what only its node knows. */
export type NodeApp = NCApp & {
  agent?: {
    source?: string;
    origin?: string;
    logFile?: string;
  };
};

export type AppVerb = "restart" | "stop" | "start";

export interface AgentClient {
  status(): Promise<AgentStatus>;
  list(): Promise<NodeApp[]>;
  find(app: AppName): Promise<NodeApp | undefined>;
  get(app: AppName): Promise<NodeApp>;
  /** Resolves to whether the app is new. */
  put(app: NCApp): Promise<boolean>;
  remove(app: AppName): Promise<void>;
  act(app: AppName, verb: AppVerb): Promise<void>;
  /** The log; with `follow` until the signal aborts or the app is gone. */
  logs(app: AppName, options: LogOptions): AsyncGenerator<Uint8Array>;
}

export interface LogChoice {
  tailLines?: number;
  follow?: boolean;
}

export interface LogOptions extends LogChoice {
  signal: AbortSignal;
}

/** What commands read of the agent's `/status`. */
export interface AgentStatus {
  version: string;
  node: string;
  startedAt: string;
  stateDir: string;
  limits: { enforced: boolean; message: string };
  sources: { name: string; ready: boolean; message: string }[];
  problems: { message: string; origin?: string }[];
}

export const socketFlag: Flag = {
  kind: "text",
  value: "PATH",
  help: "Unix socket of the agent. Also read from NCKUBELET_SOCKET and the agent's config.",
  default: defaultPaths.socket,
};

/** The flags of every command that takes an APP. */
export const appFlags: Record<string, Flag> = {
  namespace: { kind: "text", short: "n", value: "NAME", help: "Namespace of the app.", default: "default" },
  socket: socketFlag,
};

/** Connects to the agent that the flags, the environment or the agent's config file name. */
export async function connectAgent({ flags }: Invocation, { env }: Io): Promise<AgentClient> {
  return createAgentClient(await findSocket(flags, env));
}

export function createAgentClient(socket: string): AgentClient {
  const list = async () => (await askAgent<{ items: NodeApp[] }>(socket, "/apps")).body.items;
  const find = async (app: AppName) => {
    try {
      return (await askAgent<NodeApp>(socket, appPath(app))).body;
    } catch (error) {
      if (error instanceof AgentError && error.status === 404) return undefined;
      throw error;
    }
  };
  /** A 404 is about the app, unless the app exists. */
  const explained = async (app: AppName, error: unknown) => {
    const isUnknown = error instanceof AgentError && error.status === 404 && !await find(app);
    return isUnknown ? unknownApp(app, await list()) : error;
  };
  const onApp = async <T>(app: AppName, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw await explained(app, error);
    }
  };
  return {
    status: async () => (await askAgent<AgentStatus>(socket, "/status")).body,
    list,
    find,
    get: (app) => onApp(app, async () => (await askAgent<NodeApp>(socket, appPath(app))).body),
    async put(app) {
      const { status } = await askAgent(socket, appPath(nameOf(app)), { method: "PUT", body: app });
      return status === 201;
    },
    remove: (app) => onApp(app, async () => void await askAgent(socket, appPath(app), { method: "DELETE" })),
    act: (app, verb) =>
      onApp(app, async () => void await askAgent(socket, `${appPath(app)}/${verb}`, { method: "POST" })),
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
export function logPath(app: AppName, { tailLines, follow = false }: LogChoice): string {
  const query = new URLSearchParams({
    ...(tailLines === undefined ? {} : { tailLines: String(tailLines) }),
    ...(follow ? { follow: "true" } : {}),
  });
  return `${appPath(app)}/logs?${query}`;
}

/** Suggests an app with a similar name, or with the same name in another namespace. */
function unknownApp({ namespace, name }: AppName, apps: NodeApp[]): Error {
  const known = apps.map(nameOf);
  const near = closest(name, known.filter((app) => app.namespace === namespace).map((app) => app.name));
  const meant = near ? { namespace, name: near } : known.find((app) => app.name === name);
  const next = meant ? `did you mean ${fullName(meant)}?` : "'nckubelet ps' lists the apps of this node";
  return new Error(`no app ${fullName({ namespace, name })} on this node; ${next}`);
}
