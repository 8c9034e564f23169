/**
 * The agent's settings: from flags, then `NCKUBELET_…` variables, then the config file, then the defaults. Each has one name:
 * `--sync-period`, `NCKUBELET_SYNC_PERIOD`, and `sync-period:` in the file mean the same.
 *
 * All paths come out absolute: launchers start in another folder, and agents and manifests are told apart by where they are, not by
 * how that was spelled.
 */
import { createHash } from "node:crypto";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { isSafeName } from "../../api/names.ts";
import { showURL } from "../../api/shown-spec.ts";
import type { AgentOptions } from "../../agent/options.ts";
import { parseBytes, parseCount } from "../../supervisor/logs/logs.ts";
import type { LogFormat, LogLevel } from "../../lib/log.ts";
import { type Flag, type FlagValues, UsageError } from "../command.ts";
import { defaultConfig, readConfigFile } from "./config-file.ts";
import { layOver, type Settings } from "./setting-levels.ts";

export { defaultConfig } from "./config-file.ts";

const isRoot = process.getuid?.() === 0;
/** Where the agent that root runs can be asked. */
export const systemSocket = "/run/nckubelet/nckubelet.sock";

export const agentFlags: Record<string, Flag> = {
  config: {
    kind: "text",
    value: "FILE",
    help: "Settings by these same names, in YAML. Relative paths in it start at its folder.",
    default: defaultConfig,
  },
  kubeconfig: { kind: "text", value: "FILE", help: "How to reach the API server." },
  server: { kind: "text", value: "URL", help: "Address of the API server, such as that of a kubectl proxy." },
  "node-name": {
    kind: "text",
    value: "NAME",
    help: "The node that this agent serves.",
    default: "the host name",
  },
  namespace: {
    kind: "text",
    value: "NAME",
    help: "Follow the NCApps of this namespace only.",
    default: "all",
  },
  manifests: { kind: "text", value: "DIR", help: "Run the NCApps in the files of this folder." },
  "manifest-url": { kind: "text", value: "URL", help: "Run the NCApps that are found at this address." },
  standalone: { kind: "switch", help: "Work without an API server." },
  "with-scheduler": { kind: "switch", help: "Also run the scheduler of the cluster, in this agent." },
  "sync-period": {
    kind: "text",
    value: "TIME",
    help: "How often all apps are looked at again.",
    default: "10s",
  },
  "report-period": {
    kind: "text",
    value: "TIME",
    help: "How often use is measured and reported.",
    default: "10s",
  },
  listen: {
    kind: "text",
    value: "ADDR",
    help: "Where to serve status: addresses, divided by commas; '' for nowhere.",
    default: "127.0.0.1:10268",
  },
  "tls-cert-file": { kind: "text", value: "FILE", help: "The certificate for addresses off loopback." },
  "tls-private-key-file": { kind: "text", value: "FILE", help: "Its key." },
  "token-file": {
    kind: "text",
    value: "FILE",
    help: "Bearer tokens that may read off loopback, one per line.",
    default: "ask the API server",
  },
  socket: {
    kind: "text",
    value: "PATH",
    help: "The unix socket of the commands.",
    default: defaultPath("socket"),
  },
  "state-dir": {
    kind: "text",
    value: "DIR",
    help: "Where the agent keeps what it knows.",
    default: defaultPath("state"),
  },
  "log-dir": { kind: "text", value: "DIR", help: "Where the apps' logs go.", default: defaultPath("log") },
  "log-max-size": {
    kind: "text",
    value: "SIZE",
    help: "A longer log of an app is rotated.",
    default: "10Mi",
  },
  "log-max-files": { kind: "text", value: "N", help: "So many files are kept of each log.", default: "5" },
  "cgroup-root": {
    kind: "text",
    value: "DIR",
    help: "The cgroup to make apps' cgroups in.",
    default: "found by itself",
  },
  enforce: {
    kind: "text",
    value: "MODE",
    help: "strict: no start without its limits; best-effort.",
    default: "strict",
  },
  "register-node": {
    kind: "text",
    value: "MODE",
    help: "Create the Node: auto (if none exists), always or never.",
    default: "auto",
  },
  "reserved-cpu-pct": { kind: "text", value: "PCT", help: "CPU that apps are never given.", default: "0" },
  "reserved-mem-pct": { kind: "text", value: "PCT", help: "Memory that apps are never given.", default: "0" },
  "max-apps": { kind: "text", value: "N", help: "At most this many apps.", default: "1000" },
  "stop-apps-on-exit": { kind: "switch", help: "Stop the apps when the agent stops." },
  "log-level": { kind: "text", value: "LEVEL", help: "debug, info, warn or error.", default: "info" },
  "log-format": { kind: "text", value: "FORMAT", help: "text or json.", default: "text" },
};

export const defaultSocket = defaultPath("socket");

export type AgentSettings = Omit<AgentOptions, "log" | "version" | "hardwareCommand"> & {
  logLevel: LogLevel;
  logFormat: LogFormat;
};

/** Reads all settings; the first one that makes no sense is a UsageError with its name and value. */
export async function readAgentSettings(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read?: (path: string) => Promise<string>,
): Promise<AgentSettings> {
  const { text: raw, path } = await readLevels(flags, env, read);
  const text = (name: string, standard: string) => raw(name) ?? standard;
  const folder = (name: string, standard: string) => {
    if (raw(name) === "") throw new UsageError(`--${name} "": not the path of a folder`);
    return path(name) ?? standard;
  };
  const stateDir = folder("state-dir", defaultPath("state"));
  const standalone = isTrue("standalone", raw("standalone"));
  const [kubeconfig, server] = [path("kubeconfig"), raw("server")];
  if (standalone && (kubeconfig || server)) {
    throw new UsageError(
      `--standalone means no API server: leave ${kubeconfig ? "--kubeconfig" : "--server"} out`,
    );
  }
  const withScheduler = isTrue("with-scheduler", raw("with-scheduler"));
  if (standalone && withScheduler) {
    throw new UsageError("--with-scheduler needs an API server: leave --standalone out");
  }
  return {
    kubeconfig: kubeconfig || (server || standalone ? undefined : env.KUBECONFIG),
    server,
    standalone,
    withScheduler,
    nodeName: nodeName(raw("node-name") ?? hostname().toLowerCase()),
    namespace: raw("namespace") || undefined,
    manifests: path("manifests") || undefined,
    manifestUrl: httpURL("manifest-url", raw("manifest-url")),
    syncPeriodMs: duration("sync-period", text("sync-period", "10s")),
    reportPeriodMs: duration("report-period", text("report-period", "10s")),
    listen: text("listen", "127.0.0.1:10268"),
    tlsCertFile: path("tls-cert-file") || undefined,
    tlsKeyFile: path("tls-private-key-file") || undefined,
    tokenFile: path("token-file") || undefined,
    socket: path("socket") ?? defaultSocket,
    stateDir,
    logDir: folder("log-dir", defaultPath("log")),
    logs: {
      maxBytes: checked("log-max-size", text("log-max-size", "10Mi"), parseBytes),
      maxFiles: checked("log-max-files", text("log-max-files", "5"), parseCount),
    },
    instance: stateDir === defaultPath("state") ? undefined : instanceName(stateDir),
    cgroupRoot: path("cgroup-root") || undefined,
    enforce: oneOf("enforce", text("enforce", "strict"), ["strict", "best-effort"]),
    registerNode: oneOf("register-node", text("register-node", "auto"), ["auto", "always", "never"]),
    reserved: {
      cpuPCT: percent("reserved-cpu-pct", text("reserved-cpu-pct", "0")),
      memPCT: percent("reserved-mem-pct", text("reserved-mem-pct", "0")),
    },
    maxApps: wholeNumber("max-apps", text("max-apps", "1000")),
    stopAppsOnExit: isTrue("stop-apps-on-exit", raw("stop-apps-on-exit")),
    stopTimeoutMs: 90_000,
    env,
    logLevel: oneOf("log-level", text("log-level", "info"), ["debug", "info", "warn", "error"]),
    logFormat: oneOf("log-format", text("log-format", "text"), ["text", "json"]),
  };
}

/** Where the agent of this machine listens for commands. What else is wrong with its config is the agent's to say. */
export async function findSocket(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read?: (path: string) => Promise<string>,
): Promise<string> {
  const named = flags.socket ?? env.NCKUBELET_SOCKET;
  if (typeof named === "string" && named !== "") return resolve(named);
  const file = await readConfigFile({ flags, env, names: fileNames, read }).catch(() => undefined);
  const socket = file?.values.socket;
  return file && typeof socket === "string" && socket !== "" ? resolve(file.folder, socket) : defaultSocket;
}

/** A span of time such as `10s`, `500ms`, `5m`, in milliseconds. */
export function duration(name: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ""];
  const ms = Number(match?.[1]) * (unit ?? NaN);
  // A timer that is to wait longer fires at once.
  if (!(ms > 0 && ms < 2 ** 31)) {
    throw new UsageError(
      `--${name} ${JSON.stringify(text)}: not a span of time such as 10s or 500ms, up to 24 days`,
    );
  }
  return ms;
}

/** A file does not name another file. */
const fileNames = Object.keys(agentFlags).filter((name) => name !== "config");

async function readLevels(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read: ((path: string) => Promise<string>) | undefined,
): Promise<Settings> {
  const variables = fileNames.map((
    name,
  ) => [name, env[`NCKUBELET_${name.toUpperCase().replaceAll("-", "_")}`]]);
  return layOver([
    await readConfigFile({ flags, env, names: fileNames, read }),
    { values: Object.fromEntries(variables), folder: "" },
    { values: flags, folder: "" },
  ]);
}

/** Agents are told apart by their state: another folder is another agent, with cgroups of its own. */
export function instanceName(stateDir: string): string {
  return `agent-${createHash("sha256").update(resolve(stateDir)).digest("hex").slice(0, 8)}`;
}

function nodeName(name: string): string {
  if (isSafeName(name)) return name;
  throw new UsageError(
    `--node-name ${JSON.stringify(name)}: not a node name (lower case letters, digits, '-' and '.')`,
  );
}

function checked<T>(name: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    throw new UsageError(`--${name} ${(cause as Error).message}`, { cause });
  }
}

function httpURL(name: string, text: string | undefined): URL | undefined {
  if (!text) return undefined;
  const url = URL.parse(text);
  if (url && ["http:", "https:"].includes(url.protocol)) return url;
  throw new UsageError(`--${name} ${JSON.stringify(showURL(text))}: not an http:// or https:// address`);
}

function percent(name: string, text: string): number {
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || Number(text) > 100) {
    throw new UsageError(`--${name} ${JSON.stringify(text)}: not from 0 to 100`);
  }
  return Number(text);
}

function isTrue(name: string, value: string | undefined): boolean {
  return oneOf(name, value ?? "false", ["true", "false"]) === "true";
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new UsageError(`--${name} ${JSON.stringify(text)}: not a whole number above 0`);
  }
  return Number(text);
}

function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((item) => item === value);
  if (found === undefined) {
    throw new UsageError(`--${name} ${JSON.stringify(value)}: use ${allowed.join(" or ")}`);
  }
  return found;
}

/** Root has the system's folders, anybody else a private one under the home folder. */
function defaultPath(kind: "state" | "log" | "socket"): string {
  if (isRoot) {
    return {
      state: "/var/lib/nckubelet",
      log: "/var/log/nckubelet",
      socket: systemSocket,
    }[kind];
  }
  const base = join(homedir(), ".local/state/nckubelet");
  return { state: join(base, "state"), log: join(base, "log"), socket: join(base, "nckubelet.sock") }[kind];
}
