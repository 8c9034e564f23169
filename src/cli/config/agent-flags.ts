/** The flags of `nckubelet agent` and where the agent keeps its files by default. */
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { usualLog } from "../../api/names.ts";
import type { Flag } from "../command.ts";

/** The settings file that is read if none is named. */
export const defaultConfig = "/etc/nckubelet/config.yaml";
/** The socket of an agent that runs as root. */
export const systemSocket = "/run/nckubelet/nckubelet.sock";

/** Default folders and socket: those of the system for root, private ones in the home folder for other users. */
export const defaultPaths = process.getuid?.() === 0
  ? { state: "/var/lib/nckubelet", log: "/var/log/nckubelet", socket: systemSocket }
  : userPaths(join(homedir(), ".local/state/nckubelet"));

function userPaths(base: string): { state: string; log: string; socket: string } {
  return { state: join(base, "state"), log: join(base, "log"), socket: join(base, "nckubelet.sock") };
}

export const agentFlags: Record<string, Flag> = {
  config: {
    value: "FILE",
    help: "YAML file of settings named like these flags. Relative paths in it start at its folder.",
    default: defaultConfig,
  },
  kubeconfig: { value: "FILE", help: "Kubeconfig of the API server, or a list as in KUBECONFIG." },
  server: { value: "URL", help: "URL of the API server, such as a kubectl proxy." },
  "node-name": { value: "NAME", help: "Name of this node.", default: "the host name" },
  namespace: { value: "NAME", help: "Run only the NCApps of this namespace.", default: "all" },
  manifests: { value: "DIR", help: "Also run the NCApps in the files of this folder." },
  "manifest-url": { value: "URL", help: "Also run the NCApps at this URL." },
  standalone: { help: "Run without an API server." },
  "with-controller": { help: "Also run the controllers of the cluster in this agent." },
  "with-scheduler": { help: "Also run only the scheduler; use --with-controller instead." },
  "sync-period": { value: "TIME", help: "How often to check all apps.", default: "10s" },
  "report-period": { value: "TIME", help: "How often to measure and report usage.", default: "10s" },
  listen: {
    value: "ADDR",
    help: "Comma-separated addresses to serve status on; '' for none.",
    default: "127.0.0.1:10268",
  },
  "open-loopback": { help: "Let every local user read apps and logs on loopback, without a token." },
  "tls-cert-file": { value: "FILE", help: "Certificate for addresses other than loopback." },
  "tls-private-key-file": { value: "FILE", help: "Private key of that certificate." },
  "token-file": {
    value: "FILE",
    help: "Bearer tokens to accept on those addresses, one per line.",
    default: "ask the API server",
  },
  "kubelet-listen": {
    value: "ADDR",
    help: "Address to serve the kubelet API on, on Nodes that the agent registered; '' for none.",
    default: ":10250",
  },
  "client-ca-file": {
    value: "FILE",
    help: "Authority of the client certificates that the kubelet API accepts.",
    default: "what the API server publishes",
  },
  socket: { value: "PATH", help: "Unix socket to serve commands on.", default: defaultPaths.socket },
  "state-dir": { value: "DIR", help: "Folder for the state of the agent.", default: defaultPaths.state },
  "log-dir": { value: "DIR", help: "Folder for the logs of apps.", default: defaultPaths.log },
  "log-max-size": {
    value: "SIZE",
    help: "Rotate the log of an app at this size.",
    default: usualLog.maxSize,
  },
  "log-max-files": { value: "N", help: "Log files to keep for each app.", default: usualLog.maxFiles },
  "cgroup-root": { value: "DIR", help: "Cgroup to create the cgroups of apps in.", default: "detected" },
  enforce: {
    value: "MODE",
    choices: ["strict", "best-effort"],
    help: "Start apps whose limits cannot be enforced: never (strict) or anyway (best-effort).",
    default: "strict",
  },
  "register-node": {
    value: "MODE",
    choices: ["auto", "always", "never"],
    help: "Create the Node: auto (if there is none), always or never.",
    default: "auto",
  },
  "node-labels": {
    value: "LIST",
    help: "Labels of the Node when the agent registers it: zone=a,example.com/rack=7.",
    default: "none",
  },
  "register-with-taints": {
    value: "LIST",
    help: "Taints of the Node when the agent registers it: dedicated=lab:NoSchedule.",
    default: "none",
  },
  pods: {
    value: "MODE",
    help: "Show apps as Pods: auto (on a Node that the agent registered) or never.",
    default: "auto",
  },
  "accept-node-name-change": {
    help: "Stop and delete the apps of this agent's earlier node name or cluster.",
  },
  "reserved-cpu-pct": { value: "PCT", help: "Percentage of CPU to keep from apps.", default: "0" },
  "reserved-mem-pct": { value: "PCT", help: "Percentage of memory to keep from apps.", default: "0" },
  "max-apps": { value: "N", help: "Maximum number of apps.", default: "1000" },
  "stop-apps-on-exit": { help: "Stop all apps when the agent exits." },
  "log-level": {
    value: "LEVEL",
    choices: ["debug", "info", "warn", "error"],
    help: "debug, info, warn or error.",
    default: "info",
  },
  "log-format": { value: "FORMAT", choices: ["text", "json"], help: "text or json.", default: "text" },
};

/** The settings that the config file may have: all but the name of the file. */
export const settingNames = Object.keys(agentFlags).filter((name) => name !== "config");
