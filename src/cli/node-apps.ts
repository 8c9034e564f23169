/** The apps of this node, as its agent reports them: ps, top, logs and describe of `nckubelet`. */
import { appFlags, connectAgent, socketFlag } from "./agent-api/agent-api.ts";
import { textFlag } from "./command.ts";
import { type AppOrigin, readCommands } from "./read-commands.ts";
import { formatAge } from "./screen/screen.ts";

const nodeApps: AppOrigin = {
  program: "nckubelet",
  scope: "node",
  appFlags,
  listFlags: {
    namespace: {
      kind: "text",
      short: "n",
      value: "NAME",
      help: "Only apps of this namespace.",
      default: "all",
    },
    socket: socketFlag,
  },
  logFlags: {},
  interval: "2s",
  async connect(invocation, io) {
    const client = await connectAgent(invocation, io);
    const namespace = textFlag(invocation, "namespace");
    return {
      list: async () =>
        (await client.list())
          .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
      none: namespace === undefined
        ? "No apps on this node. Start one with 'nckubelet run SCRIPT' or 'nckubelet apply -f FILE'."
        : `No apps in namespace ${namespace} on this node. 'nckubelet ps' lists all namespaces.`,
      get: client.get,
      logs: client.logs,
      async heading() {
        const { node, version, startedAt, limits } = await client.status();
        return [
          `node ${node}, agent ${version}, up ${formatAge(Date.now() - Date.parse(startedAt))}`,
          ...(limits.enforced ? [] : [`caps are not enforced: ${limits.message}`]),
        ];
      },
      events: async () => [],
      [Symbol.dispose]: () => {},
    };
  },
};

export const nodeCommands = readCommands(nodeApps);
