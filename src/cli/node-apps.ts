/** The apps of this node, as its agent reports them: ps, top, logs and describe of `nckubelet`. */
import { basename } from "node:path";
import { apiVersion, keyOf, kind, splitAppKey } from "../api/names.ts";
import {
  type AgentClient,
  type AgentStatus,
  appFlags,
  connectAgent,
  NoAgentError,
  type NodeApp,
  socketFlag,
} from "./agent-api/agent-api.ts";
import { nameOf } from "./app-name.ts";
import { textFlag } from "./command.ts";
import type { AppOrigin } from "./app-reader.ts";
import { readCommands } from "./read-commands.ts";
import { describeEvents, formatAge, printable } from "./screen/screen.ts";

/** How many lines of its log the description of an app ends with. */
const describedLines = 10;

const nodeApps: AppOrigin = {
  program: "nckubelet",
  scope: "node",
  appFlags,
  listFlags: {
    namespace: { short: "n", value: "NAME", help: "Only apps of this namespace.", default: "all" },
    socket: socketFlag,
  },
  interval: "2s",
  async connect(invocation, io) {
    const client = await connectAgent(invocation, io);
    const namespace = textFlag(invocation, "namespace");
    const isListed = ({ metadata }: NodeApp) => namespace === undefined || metadata.namespace === namespace;
    return {
      list: async () => (await client.list()).filter(isListed),
      async broken() {
        const [{ problems }, apps] = await Promise.all([client.status(), client.list()]);
        return brokenManifests(problems, apps).filter(isListed);
      },
      none: namespace === undefined
        ? "No apps on this node. Start one with 'nckubelet run SCRIPT' or 'nckubelet apply -f FILE'."
        : `No apps in namespace ${namespace} on this node. 'nckubelet ps' lists all namespaces.`,
      get: client.get,
      async *logs(app, options) {
        try {
          yield* client.logs(app, options);
        } catch (error) {
          if (!(error instanceof NoAgentError) || invocation.flags.socket !== undefined) throw error;
          const { readOfflineLog } = await import("./offline-log.ts");
          yield* readOfflineLog(app, options, io, error);
        }
      },
      restart: (app) => client.act(app, "restart"),
      async heading() {
        const { node, version, startedAt, limits } = await client.status();
        return [
          `node ${node}, agent ${version}, up ${formatAge(Date.now() - Date.parse(startedAt))}`,
          ...(limits.enforced ? [] : [`caps are not enforced: ${limits.message}`]),
        ];
      },
      async events(app) {
        const events = await client.events({ app: nameOf(app) });
        return [...describeEvents(events, Date.now()), ...await lastLines(client, app, io.signal)];
      },
      [Symbol.dispose]: () => {},
    };
  },
};

export const nodeCommands = readCommands(nodeApps);

/**
 * Manifests that are no apps, since they never were valid, or since another manifest of the same app comes first: one row for each app,
 * or for a file that names none. Broken Secrets and ConfigMaps have rows, too.
 */
function brokenManifests(problems: AgentStatus["problems"], apps: NodeApp[]): NodeApp[] {
  const known = new Set(apps.flatMap((app) => [keyOf(app), app.agent?.origin]));
  const rows = new Map<string, NodeApp>();
  for (const { app, holder, ignored, origin = "", message } of problems) {
    if (holder !== undefined) {
      const [, kind = holder, namespace = "", name = ""] = /^(\w+) (.+)\/(.+)$/.exec(holder) ?? [];
      const metadata = { namespace, name: name ? `${kind}/${name}` : kind };
      rows.set(`${holder} ${origin}`, row("Invalid", metadata, message));
      continue;
    }
    if (ignored !== undefined) {
      rows.set(`${ignored} ${origin}`, row("Ignored", splitAppKey(ignored), message));
    }
    const isFile = /\.(ya?ml|json)$/.test(origin);
    if (app === undefined && (ignored !== undefined || !isFile) || known.has(app || origin)) continue;
    const { namespace, name } = app ? splitAppKey(app) : { namespace: "", name: basename(origin) };
    const key = app || origin;
    rows.set(key, rows.get(key) ?? row("Invalid", { namespace, name }, message));
  }
  return [...rows.values()];
}

function row(
  phase: "Invalid" | "Ignored",
  metadata: { namespace: string; name: string },
  message: string,
): NodeApp {
  // Not a phase of apps: there is no app.
  const status = { phase, reason: "InvalidSpec", message } as unknown as NodeApp["status"];
  return { apiVersion, kind, metadata, spec: {}, status };
}

async function lastLines(client: AgentClient, app: NodeApp, signal: AbortSignal): Promise<string[]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of client.logs(nameOf(app), { tailLines: describedLines, signal })) {
    text += decoder.decode(bytes, { stream: true });
  }
  const lines = text.split("\n").slice(0, -1).map((line) => `  ${printable(line).slice(0, 500)}`);
  return lines.length === 0 ? ["Log: empty"] : ["Log, last lines:", ...lines];
}
