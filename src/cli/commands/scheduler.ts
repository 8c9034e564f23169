import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { appKey, defaultSchedulerName, splitAppKey } from "../../api/names.ts";
import { loadAccess } from "../../kube/access/access.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { OpenListener } from "../../server/listen/listen.ts";
import { createLogger } from "../../lib/log.ts";
import { version } from "../../lib/version.ts";
import { createSchedulerClient } from "../../scheduler/client.ts";
import { type Command, type Invocation, type Io, UsageError } from "../command.ts";
import { parseChoice, parseDuration, variableName } from "../flag-values.ts";
import { formatTable } from "../screen/screen.ts";

const shortestGraceMs = 20_000;

/** Runs the NCApp scheduler, or explains the placement of one app. */
export const schedulerCommand: Command = {
  flags: {
    kubeconfig: { kind: "text", value: "FILE", help: "The kubeconfig of the API server." },
    server: {
      kind: "text",
      value: "URL",
      help: "The address of the API server, such as that of kubectl proxy.",
    },
    "scheduler-name": {
      kind: "text",
      value: "NAME",
      help: "Place the NCApps with this spec.schedulerName.",
      default: defaultSchedulerName,
    },
    policy: {
      kind: "text",
      value: "POLICY",
      help: "spread over all nodes, or binpack on as few as possible.",
      default: "spread",
    },
    "default-toleration": {
      kind: "text",
      value: "TIME",
      help: "How long apps stay bound to a lost node.",
      default: "300s",
    },
    "node-monitor-grace-period": {
      kind: "text",
      value: "TIME",
      help: "How long a node may be silent before it is lost.",
      default: "40s, as its Lease says",
    },
    "no-leader-elect": { kind: "switch", help: "Schedule without leader election." },
    listen: {
      kind: "text",
      value: "ADDR",
      help: "Serve health and metrics on this loopback address; '' to disable.",
      default: "127.0.0.1:10269",
    },
    "health-listen": {
      kind: "text",
      value: "ADDR",
      help: "Serve only /healthz, /livez and /readyz on this address, to anyone, such as :10270.",
    },
    explain: {
      kind: "text",
      value: "NS/NAME",
      help: "Print why each node fits one app or not, and exit.",
    },
    "log-level": { kind: "text", value: "LEVEL", help: "debug, info, warn or error.", default: "info" },
    "log-format": { kind: "text", value: "FORMAT", help: "text or json.", default: "text" },
  },
  examples: [
    "nckubelet scheduler --kubeconfig /etc/nckubelet/scheduler.kubeconfig",
    "nckubelet scheduler --policy binpack",
    "nckubelet scheduler --explain default/web",
  ],
  async run(invocation, io) {
    const settings = readSettings(invocation, io);
    const access = await loadAccess({
      kubeconfig: settings.kubeconfig,
      server: settings.server,
      env: io.env,
    });
    const client = createSchedulerClient(access, { version });
    try {
      return settings.explain
        ? await explain(settings.explain, settings, client, io)
        : await schedule(settings, client, io);
    } finally {
      client.close();
    }
  },
};

type Settings = ReturnType<typeof readSettings>;

async function schedule(settings: Settings, client: KubeClient, io: Io): Promise<number> {
  const { logLevel: level, logFormat: format, listen, healthListen, ...rest } = settings;
  const log = createLogger({ level, format, write: (line) => io.stderr(`${line}\n`) });
  const [{ runScheduler }, { createHealthApp }, { listenForHealth, listenOnPort }] = await Promise.all([
    import("../../scheduler/scheduler.ts"),
    import("../../scheduler/serve/serve.ts"),
    import("../../server/listen/listen.ts"),
  ]);
  const identity = `${hostname().toLowerCase()}_${randomUUID()}`;
  log.info("starting the scheduler", { version, identity, server: client.access.describe() });
  await runScheduler({
    ...rest,
    client,
    log,
    version,
    identity,
    serve: async (app) => {
      await using listeners = new AsyncDisposableStack();
      const open = (listener: OpenListener) => {
        listeners.defer(() => listener.close());
        log.info("serving", { address: listener.address });
      };
      if (listen) open(await listenOnPort(app, listen));
      if (healthListen) open(await listenForHealth(createHealthApp(app), healthListen));
      const all = listeners.move();
      return { close: () => all.disposeAsync() };
    },
  }, io.signal);
  log.info("stopped the scheduler");
  return 0;
}

async function explain(
  key: string,
  { schedulerName, policy }: Settings,
  client: KubeClient,
  io: Io,
): Promise<number> {
  const [{ loadCluster }, { describeRequest, explainApp, explanationRows }] = await Promise.all([
    import("../../scheduler/follow/load-cluster.ts"),
    import("../../scheduler/place/explain.ts"),
  ]);
  const cluster = await loadCluster(client, { schedulerName });
  const explanation = explainApp(key, cluster, { policy, now: Date.now(), random: () => 0 });
  if (!explanation) throw new Error(`NCApp ${key} not found`);
  const { app, outcome } = explanation;
  const lines = [describeRequest(app), outcome, "", ...formatTable(explanationRows(explanation))];
  io.stdout(`${lines.join("\n")}\n`);
  return 0;
}

/** Reads flags, then `NCKUBELET_…` variables, then the defaults. */
function readSettings({ flags }: Invocation, { env }: Io) {
  const raw = (name: string) => {
    const value = flags[name] ?? env[variableName(name)];
    return value === undefined ? undefined : String(value);
  };
  const server = raw("server");
  return {
    server,
    kubeconfig: raw("kubeconfig") || (server ? undefined : env.KUBECONFIG),
    schedulerName: raw("scheduler-name") || defaultSchedulerName,
    policy: parseChoice("policy", raw("policy") ?? "spread", ["spread", "binpack"]),
    leaderElect: raw("no-leader-elect") !== "true",
    defaultTolerationMs: parseDuration("default-toleration", raw("default-toleration") ?? "300s"),
    nodeGraceMs: nodeGrace(raw("node-monitor-grace-period")),
    listen: raw("listen") ?? "127.0.0.1:10269",
    healthListen: raw("health-listen"),
    explain: explainedApp(raw("explain")),
    logLevel: parseChoice("log-level", raw("log-level") ?? "info", ["debug", "info", "warn", "error"]),
    logFormat: parseChoice("log-format", raw("log-format") ?? "text", ["text", "json"]),
  };
}

/** Agents renew every 10 s: with less than two renewals, a single delayed one would look like a lost node. */
function nodeGrace(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration("node-monitor-grace-period", text);
  if (ms >= shortestGraceMs) return ms;
  throw new UsageError(
    `--node-monitor-grace-period ${JSON.stringify(text)}: agents renew every 10 s; use ${
      shortestGraceMs / 1000
    }s or more`,
  );
}

function explainedApp(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { namespace, name } = splitAppKey(text.includes("/") ? text : `default/${text}`);
    return appKey(namespace, name);
  } catch (cause) {
    throw new UsageError(`--explain ${JSON.stringify(text)}: use NAMESPACE/NAME`, { cause });
  }
}
