/**
 * The agent's settings: from flags, then `NCKUBELET_…` variables, then the config file, then the defaults. Each has one name:
 * `--sync-period`, `NCKUBELET_SYNC_PERIOD` and `sync-period:` in the file mean the same.
 *
 * All paths are made absolute: launchers start in another folder, and agents and manifests are identified by their paths.
 */
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { AgentOptions } from "../../agent/options.ts";
import { nodeNameProblem } from "../../api/names.ts";
import { parseNodeLabels, parseTaints } from "../../api/node-labels.ts";
import { pathDigest } from "../../lib/files.ts";
import { isLoopback, parseAddress } from "../../lib/special-addresses.ts";
import type { LogFormat, LogLevel } from "../../lib/log.ts";
import { type FlagValues, UsageError } from "../command.ts";
import {
  parseBoolean,
  parseChoice,
  parseDuration,
  parseHttpURL,
  parseListen,
  parsePercentage,
  parseWholeNumber,
  variableName,
} from "../flag-values.ts";
import { agentFlags, defaultPaths, settingNames } from "./agent-flags.ts";
import { readConfigFile } from "./config-file.ts";
import { mergeLevels } from "./setting-levels.ts";

export { agentFlags, defaultConfig, defaultPaths, systemSocket } from "./agent-flags.ts";

export { planReload } from "./reload.ts";

export type AgentSettings = Omit<AgentOptions, "log" | "version" | "self" | "access" | "reloads"> & {
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** Every setting by its name, as text: what to compare a later reading with. */
  texts: Record<string, string>;
};

/** Reads all settings. The first invalid one is a UsageError with its name and value. */
export async function readAgentSettings(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read?: (path: string) => Promise<string>,
): Promise<AgentSettings> {
  const variables = settingNames.map((name) => [name, env[variableName(name)]]);
  const { text: raw, path, paths } = mergeLevels([
    await readConfigFile(flags, env, read),
    { values: Object.fromEntries(variables), folder: "" },
    { values: flags, folder: "" },
  ]);
  // Loaded here, since most commands only look for the socket.
  const { parseBytes, parseCount } = await import("../../supervisor/logs/logs.ts");
  /** The value of a setting whose flag names its default. */
  const text = (name: string) => raw(name) ?? agentFlags[name]!.default!;
  const isSet = (name: string) => parseBoolean(name, raw(name) ?? "false");
  const folder = (name: string, standard: string) => {
    if (raw(name) === "") throw new UsageError(`--${name} "": use the path of a folder`);
    return path(name) ?? standard;
  };
  const stateDir = folder("state-dir", defaultPaths.state);
  const manifestUrl = raw("manifest-url");
  const cluster = { kubeconfig: paths("kubeconfig"), server: raw("server") };
  if (cluster.server) parseHttpURL("server", cluster.server);
  const standalone = isSet("standalone");
  const withOld = isSet("with-scheduler");
  const controllers = isSet("with-controller") ? "all" : withOld ? "scheduler" : undefined;
  checkStandalone({ ...cluster, standalone, controllers });
  return {
    kubeconfig: cluster.kubeconfig || (cluster.server || standalone ? undefined : env.KUBECONFIG),
    server: cluster.server,
    standalone,
    controllers,
    nodeName: checkNodeName(raw("node-name") ?? hostname().toLowerCase()),
    namespace: raw("namespace") || undefined,
    manifests: path("manifests") || undefined,
    manifestUrl: manifestUrl ? parseHttpURL("manifest-url", manifestUrl) : undefined,
    syncPeriodMs: parseDuration("sync-period", text("sync-period")),
    reportPeriodMs: parseDuration("report-period", text("report-period")),
    listen: parseListen("listen", text("listen")),
    openLoopback: isSet("open-loopback"),
    tlsCertFile: path("tls-cert-file") || undefined,
    tlsKeyFile: path("tls-private-key-file") || undefined,
    tokenFile: path("token-file") || undefined,
    kubeletListen: checkKubeletListen(
      parseListen("kubelet-listen", text("kubelet-listen"), { anyHost: true }),
    ),
    clientCAFile: path("client-ca-file") || undefined,
    socket: path("socket") ?? defaultPaths.socket,
    stateDir,
    logDir: folder("log-dir", defaultPaths.log),
    logs: {
      maxBytes: withFlag("log-max-size", text("log-max-size"), parseBytes),
      maxFiles: withFlag("log-max-files", text("log-max-files"), parseCount),
    },
    instance: stateDir === defaultPaths.state ? undefined : instanceName(stateDir),
    cgroupRoot: path("cgroup-root") || undefined,
    enforce: parseChoice("enforce", text("enforce"), ["strict", "best-effort"]),
    registerNode: parseChoice("register-node", text("register-node"), ["auto", "always", "never"]),
    nodeLabels: withFlag("node-labels", raw("node-labels") ?? "", parseNodeLabels),
    nodeTaints: withFlag("register-with-taints", raw("register-with-taints") ?? "", parseTaints),
    pods: parseChoice("pods", text("pods"), ["auto", "never"]),
    acceptNodeNameChange: isSet("accept-node-name-change"),
    reserved: {
      cpuPCT: parsePercentage("reserved-cpu-pct", text("reserved-cpu-pct")),
      memPCT: parsePercentage("reserved-mem-pct", text("reserved-mem-pct")),
    },
    maxApps: parseWholeNumber("max-apps", text("max-apps"), { min: 1 }),
    stopAppsOnExit: isSet("stop-apps-on-exit"),
    stopTimeoutMs: 90_000,
    env,
    logLevel: parseChoice("log-level", text("log-level"), ["debug", "info", "warn", "error"]),
    logFormat: parseChoice("log-format", text("log-format"), ["text", "json"]),
    texts: Object.fromEntries(
      settingNames.map((name) => [name, raw(name) ?? agentFlags[name]?.default ?? ""]),
    ),
  };
}

/** Finds the socket of this machine's agent. Other mistakes in its config file are for the agent to report. */
export async function findSocket(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read?: (path: string) => Promise<string>,
): Promise<string> {
  const named = flags.socket ?? env.NCKUBELET_SOCKET;
  if (typeof named === "string" && named !== "") return resolve(named);
  const file = await readConfigFile(flags, env, read).catch(() => undefined);
  const socket = file?.values.socket;
  return file && typeof socket === "string" && socket !== ""
    ? resolve(file.folder, socket)
    : defaultPaths.socket;
}

/** The name of an agent among those of this machine. Another state folder is another agent with its own cgroups. */
export function instanceName(stateDir: string): string {
  return `agent-${pathDigest(stateDir)}`;
}

function checkStandalone(
  { standalone, controllers, kubeconfig, server }: Pick<
    AgentSettings,
    "standalone" | "controllers" | "kubeconfig" | "server"
  >,
): void {
  if (!standalone) return;
  if (kubeconfig || server) {
    const other = kubeconfig ? "--kubeconfig" : "--server";
    throw new UsageError(`--standalone means no API server: remove ${other}`);
  }
  if (controllers) {
    const flag = controllers === "all" ? "--with-controller" : "--with-scheduler";
    throw new UsageError(`${flag} needs an API server: remove --standalone`);
  }
}

/** The API server connects to an address of the Node: loopback would be its own. */
function checkKubeletListen(address: string): string {
  if (/^(:|$)/.test(address) || !isLoopback(parseAddress(address).host)) return address;
  throw new UsageError(
    `--kubelet-listen ${address}: kubectl logs and exec reach it through the API server, which cannot connect to loopback; ` +
      "use :10250 or an address of the node, or '' for none",
  );
}

function checkNodeName(name: string): string {
  const problem = nodeNameProblem(name);
  if (problem === undefined) return name;
  throw new UsageError(`--node-name ${JSON.stringify(name)}: ${problem}`);
}

/** Parses a value; an error of the parser, which quotes the value, gets the name of the flag. */
function withFlag<T>(flag: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    throw new UsageError(`--${flag} ${(cause as Error).message}`, { cause });
  }
}
