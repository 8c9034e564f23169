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
};

/** Returns what to write instead of an unknown field; undefined if there is nothing to say. */
export function otherWord(field: string): string | undefined {
  const name = /^spec\.(\w+)$/.exec(field)?.[1]?.toLowerCase();
  return name === undefined ? undefined : ownValue(inSpec, name);
}
