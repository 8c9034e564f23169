/** Names that other programs have for a field. A field that is only misspelled is found by `suggestion` of ../field-error.ts. */
import { ownValue } from "../../lib/objects.ts";

const script = "use shellFile for the script and args for its arguments";
const shares = 'use cpuPCT and memPCT, in percent of the node, such as cpuPCT: "20"';
const noContainer = "an NCApp is no container: it uses the files and ports of the node";
const noSandbox = "an NCApp has no sandbox: runAsUser chooses its user";
const order = "apps start in no order: let the script wait for what it needs";
const daemons = "not needed: a daemon that its script leaves behind is the app";
const inMetadata = "write it in metadata";

/**
 * Fields that users of Pods, docker, systemd and cron expect in `spec`, and what an NCApp has instead. In small letters, without
 * hyphens and underscores.
 */
const inSpec: Record<string, string> = {
  command: script,
  cmd: script,
  entrypoint: script,
  exec: script,
  execstart: script,
  program: script,
  run: script,
  script: "use shellFile",
  path: "use shellFile",
  execstartpre: "do it in the script of shellFile",
  image: "an NCApp is no container: name its script with shellFile",
  build: "an NCApp is no container: name its script with shellFile",
  containers: "an NCApp is no Pod: name its script with shellFile",
  initcontainers: "an NCApp is no Pod: do it in the script of shellFile",
  template: "an NCApp is one app: an NCAppSet has a template",
  containername: "use metadata.name",
  resources: shares,
  limits: shares,
  cpu: "use cpuPCT, in percent of the node",
  cpus: "use cpuPCT, in percent of the node",
  cpuquota: "use cpuPCT, in percent of the node",
  memory: "use memPCT, in percent of the node",
  memlimit: "use memPCT, in percent of the node",
  memorymax: "use memPCT, in percent of the node",
  tasksmax: "use pidsMax",
  pidslimit: "use pidsMax",
  ulimits: "set them in the script, with ulimit",
  limitnofile: "set it in the script, with ulimit -n",
  nice: "start the program by nice in the script",
  environment: "use env",
  user: "use runAsUser",
  group: "use runAsGroup",
  securitycontext: "use runAsUser and runAsGroup",
  privileged: noSandbox,
  capadd: noSandbox,
  capabilities: noSandbox,
  cwd: "use workingDir",
  workingdirectory: "use workingDir",
  volumes: noContainer,
  volumemounts: noContainer,
  networkmode: noContainer,
  hostnetwork: noContainer,
  hostname: noContainer,
  networks: noContainer,
  expose: "use ports, such as [{port: 80}]",
  logging: "its output goes to its log: 'nckubelet logs APP' prints it",
  standardoutput: "its output goes to its log: 'nckubelet logs APP' prints it",
  labels: inMetadata,
  annotations: inMetadata,
  name: inMetadata,
  namespace: inMetadata,
  after: order,
  requires: order,
  wants: order,
  dependson: order,
  wantedby: "not needed: an app runs as long as its manifest exists",
  enabled: "use suspend: true for an app that is not to run",
  type: daemons,
  pidfile: daemons,
  cron: "use schedule",
  oncalendar: 'use schedule, such as "30 2 * * *"',
  restart: "use restartPolicy",
  restartsec: "use backoffSeconds",
  killsignal: "use stopSignal",
  killmode: "use stopTarget, All or Main",
  timeoutstopsec: "use terminationGracePeriodSeconds",
  stopgraceperiod: "use terminationGracePeriodSeconds",
  runtimemaxsec: "use activeDeadlineSeconds",
  replicas: "an NCApp runs once, on one node",
  healthcheck: "use livenessProbe",
  envfrom: "use env with valueFrom for each key, or envFile for a file on the node",
  environmentfile: "use envFile",
  reload: "use reloadSignal or reloadCommand",
  reloadfile: "use reloadCommand",
  execreload: "use reloadSignal or reloadCommand",
  execstop: "use stopFile or stopSignal",
};

/** The same for probes. */
const inProbe: Record<string, string> = {
  period: "use periodSeconds",
  interval: "use periodSeconds",
  timeout: "use timeoutSeconds",
  initialdelay: "use initialDelaySeconds",
  startperiod: "use initialDelaySeconds",
  retries: "use failureThreshold",
  command: "use exec: {command: [...]}",
  test: "use exec: {command: [...]}",
  grpc: "use exec, httpGet or tcpSocket",
  url: "use httpGet: {path: /, port: 80}",
};

/** The same for all else, by its place. */
const elsewhere: [place: RegExp, instead: string][] = [
  [/^spec\.ports\[\d+\]\.(containerPort|hostPort|published)$/, "use port"],
  [/^spec\.ports\[\d+\]\.(targetPort|target)$/, "not needed: port is the one that the app opens on the node"],
  [/^spec\.\w+Probe\.httpGet\.url$/, "use path and port, such as {path: /, port: 80}"],
  [/^spec\.update\.(type|strategy)$/, "use onFailure, Keep or Rollback: a single app is always replaced"],
];

/** Returns what to write instead of an unknown field; undefined if there is nothing to say. */
export function otherWord(field: string, known: readonly string[] = []): string | undefined {
  const [, probe, name = ""] = /^spec\.(\w+Probe\.)?([\w-]+)$/.exec(field) ?? [];
  const plain = name.toLowerCase().replaceAll(/[-_]/g, "");
  const isOnlySpelled = known.some((other) => other.toLowerCase() === plain);
  const instead = isOnlySpelled ? undefined : ownValue(probe ? inProbe : inSpec, plain);
  return instead ?? elsewhere.find(([place]) => place.test(field))?.[1];
}
