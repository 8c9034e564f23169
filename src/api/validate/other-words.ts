/** Names that other programs have for a field. A field that is only misspelled is found by `suggestion` of ../field-error.ts. */
import { ownValue } from "../../lib/objects.ts";

/** Fields that users of Pods, docker, systemd and cron expect in `spec`, and what an NCApp has instead. */
const inSpec: Record<string, string> = {
  command: "use shellFile for the script and args for its arguments",
  entrypoint: "use shellFile for the script and args for its arguments",
  script: "use shellFile",
  image: "an NCApp is no container: name its script with shellFile",
  containers: "an NCApp is no Pod: name its script with shellFile",
  resources: 'use cpuPCT and memPCT, in percent of the node, such as cpuPCT: "20"',
  limits: 'use cpuPCT and memPCT, in percent of the node, such as cpuPCT: "20"',
  cpu: "use cpuPCT, in percent of the node",
  memory: "use memPCT, in percent of the node",
  environment: "use env",
  user: "use runAsUser",
  group: "use runAsGroup",
  cwd: "use workingDir",
  cron: "use schedule",
  restart: "use restartPolicy",
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
  retries: "use failureThreshold",
  command: "use exec: {command: [...]}",
  test: "use exec: {command: [...]}",
};

/** Returns what to write instead of an unknown field; undefined if there is nothing to say. */
export function otherWord(field: string): string | undefined {
  const [, probe, name = ""] = /^spec\.(\w+Probe\.)?(\w+)$/.exec(field) ?? [];
  return ownValue(probe ? inProbe : inSpec, name.toLowerCase());
}
