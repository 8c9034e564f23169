/**
 * The agent's socket as commands use it. An unknown app is answered with the one that was probably meant.
 */
import { appKey } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import { closest } from "../../lib/closest.ts";
import { defaultSocket, findSocket } from "../config/config.ts";
import type { AppName } from "./app-operand.ts";
import { appPath, type LogChoice, logPath } from "./app-path.ts";
import { AgentError, askAgent, streamFromAgent } from "./ask-agent.ts";
import type { Flag, Invocation, Io } from "../command.ts";
import { nameOf, type NodeApp } from "./node-app.ts";

export type AppVerb = "restart" | "stop" | "start";

export interface AgentClient {
  status(): Promise<AgentStatus>;
  list(): Promise<NodeApp[]>;
  /** Undefined where there is no such app. */
  find(app: AppName): Promise<NodeApp | undefined>;
  get(app: AppName): Promise<NodeApp>;
  /** Resolves to whether the app is new. */
  put(app: NCApp): Promise<boolean>;
  remove(app: AppName): Promise<void>;
  act(app: AppName, verb: AppVerb): Promise<void>;
  /** The log; with `follow` until the signal aborts or the app is gone. */
  logs(app: AppName, options: LogOptions): AsyncGenerator<Uint8Array>;
}

export interface LogOptions extends LogChoice {
  signal: AbortSignal;
}

/** What commands read of the agent's `/status`. */
export interface AgentStatus {
  version: string;
  node: string;
  startedAt: string;
  /** Where it keeps its records. */
  stateDir: string;
  limits: { enforced: boolean; message: string };
  sources: { name: string; ready: boolean; message: string }[];
  problems: { message: string; origin?: string }[];
}

export const socketFlag: Flag = {
  kind: "text",
  value: "PATH",
  help: "The agent's unix socket; also NCKUBELET_SOCKET, or the agent's config.",
  default: defaultSocket,
};

/** The flags of every command that takes an APP. */
export const appFlags: Record<string, Flag> = {
  namespace: {
    kind: "text",
    short: "n",
    value: "NAME",
    help: "Namespace of the app.",
    default: "default",
  },
  socket: socketFlag,
};

/** The agent that the flags, the environment or the machine's config file name. */
export async function connectAgent({ flags }: Invocation, { env }: Io): Promise<AgentClient> {
  return createAgentClient(await findSocket(flags, env));
}

/** A client for the agent at this socket. */
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
  /** A 404 is about the app, unless the app is there. */
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

/** Names the app that was probably meant: one with nearly that name, or with that name in another namespace. */
function unknownApp({ namespace, name }: AppName, apps: NodeApp[]): Error {
  const keys = apps.map(nameOf);
  const elsewhere = keys.find((other) => other.name === name);
  const near = closest(
    name,
    keys.filter((other) => other.namespace === namespace).map((other) => other.name),
  );
  const meant = near ? { namespace, name: near } : elsewhere;
  const next = meant
    ? `did you mean ${appKey(meant.namespace, meant.name)}?`
    : "'nckubelet ps' lists the apps of this node";
  return new Error(`no app ${appKey(namespace, name)} on this node; ${next}`);
}
