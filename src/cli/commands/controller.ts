import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { appKey, defaultSchedulerName, splitAppKey } from "../../api/names.ts";
import type { ControllerName } from "../../controller/controllers.ts";
import { selectControllers } from "../../controller/select.ts";
import { loadAccess } from "../../kube/access/access.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { PortProblems } from "../../server/listen/listen.ts";
import { createLogger, type Logger } from "../../lib/log.ts";
import { version } from "../../lib/version.ts";
import { createSchedulerClient } from "../../scheduler/client.ts";
import { type Command, type Flag, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import {
  misspelledVariables,
  parseBoolean,
  parseChoice,
  parseDuration,
  parseListen,
  variableName,
} from "../flag-values.ts";
import { formatTable } from "../screen/screen.ts";

const shortestGraceMs = 20_000;

const flags: Record<string, Flag> = {
  kubeconfig: { value: "FILE", help: "The kubeconfig of the API server." },
  server: { value: "URL", help: "The address of the API server, such as that of kubectl proxy." },
  "scheduler-name": {
    value: "NAME",
    help: "Place the NCApps with this spec.schedulerName.",
    default: defaultSchedulerName,
  },
  policy: {
    value: "POLICY",
    help: "spread over all nodes, or binpack on as few as possible.",
    default: "spread",
  },
  "default-toleration": { value: "TIME", help: "How long apps stay bound to a lost node.", default: "300s" },
  "node-monitor-grace-period": {
    value: "TIME",
    help: "How long a node may be silent before it is lost.",
    default: "40s, as its Lease says",
  },
  "no-leader-elect": { help: "Schedule without leader election." },
  listen: {
    value: "ADDR",
    help:
      "Comma-separated addresses to serve health, metrics and status on; '' for none. Off loopback: TLS and tokens.",
    default: "127.0.0.1:10269",
  },
  "tls-cert-file": {
    value: "FILE",
    help: "Certificate for addresses other than loopback.",
    default: "self-signed",
  },
  "tls-private-key-file": { value: "FILE", help: "Private key of that certificate." },
  "health-listen": {
    value: "ADDR",
    help: "Serve only /healthz, /livez and /readyz on this address, to anyone, such as :10270.",
  },
  explain: { value: "NS/NAME", help: "Print why each node fits one app or not, and exit." },
  "log-level": { value: "LEVEL", help: "debug, info, warn or error.", default: "info" },
  "log-format": { value: "FORMAT", help: "text or json.", default: "text" },
};

/** Runs the controllers of the cluster, or explains the placement of one app. */
export const controllerCommand: Command = {
  flags: {
    only: {
      value: "LIST",
      help: "Run only these controllers: scheduler, sets, identities.",
      default: "scheduler,sets",
    },
    without: { value: "LIST", help: "Run the others but not these controllers.", default: "none" },
    ...flags,
  },
  examples: [
    "nckubelet controller --kubeconfig /etc/nckubelet/controller.kubeconfig",
    "nckubelet controller --policy binpack",
    "nckubelet controller --explain default/web",
  ],
  run: (invocation, io) => runCommand(invocation, io, { name: "controller", names: namesOf(invocation, io) }),
};

/** The same with one controller. */
export const schedulerCommand: Command = {
  flags,
  examples: [
    "nckubelet scheduler --kubeconfig /etc/nckubelet/scheduler.kubeconfig",
    "nckubelet scheduler --policy binpack",
    "nckubelet scheduler --explain default/web",
  ],
  run: (invocation, io) => runCommand(invocation, io, { name: "scheduler", names: ["scheduler"] }),
};

interface Called {
  /** The command, in messages. */
  name: string;
  names: ControllerName[];
}

async function runCommand(invocation: Invocation, io: Io, called: Called): Promise<number> {
  const settings = readSettings(invocation, io);
  const { kubeconfig, server, explain: app, logLevel: level, logFormat: format } = settings;
  const log = createLogger({ level, format, write: (line) => io.stderr(`${line}\n`) });
  io.onHangup?.(() => log.info("SIGHUP: there is nothing to reload, a changed kubeconfig is read by itself"));
  const { env, self, signal } = io;
  const variables = [...Object.keys(flags), "controller-only", "controller-without"];
  for (const warning of misspelledVariables(env, variables)) log.warn(warning);
  const access = await loadAccess({ kubeconfig, server, env, ...(app ? {} : { self, log, signal }) });
  const client = createSchedulerClient(access, { version });
  try {
    return app ? await explain(app, settings, client, io) : await control(called, settings, client, io, log);
  } finally {
    client.close();
  }
}

function namesOf(invocation: Invocation, { env }: Io): ControllerName[] {
  const [only, without] = ["only", "without"].map((flag) =>
    textFlag(invocation, flag) ?? env[variableName(`controller-${flag}`)]
  );
  try {
    return selectControllers({ only, without });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

type Settings = ReturnType<typeof readSettings>;

async function control(
  { name, names }: Called,
  settings: Settings,
  client: KubeClient,
  io: Io,
  log: Logger,
): Promise<number> {
  const [{ openControllerListeners, runController }, { createCredentialTimes }] = await Promise.all([
    import("../../controller/controller.ts"),
    import("../../server/credential-times.ts"),
  ]);
  const credentials = createCredentialTimes();
  credentials.follow(() => client.access.expiries());
  const ports: PortProblems = new Map();
  const identity = `${hostname().toLowerCase()}_${randomUUID()}`;
  const controllers = name === "controller" ? names.join(",") : undefined;
  log.info(`starting the ${name}`, { version, identity, controllers, server: client.access.describe() });
  await runController({
    ...settings,
    names,
    client,
    log,
    version,
    identity,
    ports,
    credentials,
    serve: (createApp) =>
      openControllerListeners(createApp, { ...settings, client, log, ports, credentials }),
  }, io.signal);
  log.info(`stopped the ${name}`);
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
  const cluster = await loadCluster(client, schedulerName);
  const explanation = explainApp(key, cluster, { policy, now: Date.now(), random: () => 0 });
  if (!explanation) throw new Error(`NCApp ${key} not found`);
  const { app, outcome } = explanation;
  const lines = [describeRequest(app), outcome, "", ...formatTable(explanationRows(explanation))];
  io.stdout(`${lines.join("\n")}\n`);
  return 0;
}

/** Reads flags, then `NCKUBELET_…` variables, then the defaults. */
function readSettings({ flags: given }: Invocation, { env }: Io) {
  const raw = (name: string) => {
    const value = given[name] ?? env[variableName(name)];
    return value === undefined ? undefined : String(value);
  };
  /** The value of a setting whose flag names its default. */
  const text = (name: string) => raw(name) ?? flags[name]!.default!;
  const server = raw("server");
  return {
    server,
    kubeconfig: raw("kubeconfig") || (server ? undefined : env.KUBECONFIG),
    schedulerName: raw("scheduler-name") || defaultSchedulerName,
    policy: parseChoice("policy", text("policy"), ["spread", "binpack"]),
    leaderElect: !parseBoolean("no-leader-elect", raw("no-leader-elect") ?? "false"),
    defaultTolerationMs: parseDuration("default-toleration", text("default-toleration")),
    nodeGraceMs: nodeGrace(raw("node-monitor-grace-period")),
    listen: parseListen("listen", text("listen"), { anyHost: true }),
    ...keyPair(raw("tls-cert-file"), raw("tls-private-key-file")),
    healthListen: parseListen("health-listen", raw("health-listen") ?? "", { anyHost: true }),
    explain: explainedApp(raw("explain")),
    logLevel: parseChoice("log-level", text("log-level"), ["debug", "info", "warn", "error"]),
    logFormat: parseChoice("log-format", text("log-format"), ["text", "json"]),
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

function keyPair(tlsCertFile?: string, tlsKeyFile?: string) {
  if (!tlsCertFile === !tlsKeyFile) return { tlsCertFile, tlsKeyFile };
  throw new UsageError("give both --tls-cert-file and --tls-private-key-file, or none");
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
