/**
 * What kubectl shows of four apps, run on a machine with cgroup v2: see story.ts, which boots one. Prints the sections of
 * docs/kubectl.md.
 */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { agentGroup, agentUser, apiVersion, kind, schedulerGroup } from "../../src/api/names.ts";
import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { runController } from "../../src/controller/controller.ts";
import { startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { waitFor } from "../wait-for.ts";

interface Scene {
  name: string;
  script: string;
  spec: NCAppSpec;
  title: string;
  /** What there is to see. */
  words: string;
  isThere: (status: NonNullable<NCApp["status"]>) => boolean;
}

const node = "edge-7";
const scheduler = "nckubelet-scheduler";
const patienceMs = 600_000;

const scenes: Scene[] = [
  {
    name: "web",
    script:
      "echo serving\nwhile :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; sleep 1; done\n",
    spec: { cpuPCT: "20", memPCT: "10" },
    title: "A healthy app",
    words:
      "`Cpu PCT` and `Mem PCT` are the usage under `Status` and the caps under `Spec`, both in percent of the whole node.\n" +
      "`Cpu Throttled PCT` is the share of time during which the cap throttled the app.",
    isThere: ({ phase, cpuPCT }) => phase === "Running" && cpuPCT !== undefined && cpuPCT !== "0.0",
  },
  {
    name: "crash-loop",
    script: "echo reading /etc/crash-loop.conf\necho 'crash-loop.conf: line 3: no such option' >&2\nexit 3\n",
    spec: { cpuPCT: "10" },
    title: "An app that keeps crashing",
    words:
      "`Message` reports what happened and what comes next. `Last Exit` has the last lines of the log. Repeated events are\ncounted.",
    isThere: ({ phase, restarts = 0 }) => phase === "BackOff" && restarts >= 2,
  },
  {
    name: "hungry",
    script: "echo reading everything into memory\nhead -c 500000000 /dev/zero | tail -c 500000000 | wc -c\n",
    spec: { memPCT: "5", restartPolicy: "Never" },
    title: "An app that exceeded its memory cap",
    words: "The kernel killed all of its processes. With `restartPolicy: Never` the app does not restart.",
    isThere: ({ phase }) => phase === "Failed",
  },
  {
    name: "too-big",
    script: "sleep 600\n",
    spec: { cpuPCT: "90" },
    title: "An app that fits on no node",
    words: "It stays `Pending`, and the scheduler tries again when something changes that may help.\n" +
      "`nckubelet controller --explain default/too-big` gives the reason for each node.",
    isThere: ({ reason }) => reason === "Unschedulable",
  },
];

const users = [
  { name: agentUser(node), groups: [agentGroup] },
  { name: scheduler, groups: [schedulerGroup] },
];
const cluster = await startControlPlane({ users, startTimeoutMs: patienceMs });
await installCRD(cluster, { timeoutS: 300 });
const kubeconfig = await cluster.kubeconfigFor(agentUser(node));
await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", node]);
const client = createKubeClient(await loadAccess({ kubeconfig: await cluster.kubeconfigFor(scheduler) }));
void runController({
  names: ["scheduler"],
  client,
  identity: "story",
  version: "story",
  log: silentLogger,
  schedulerName: "nc-scheduler",
  policy: "spread",
  leaderElect: false,
}, new AbortController().signal);

// One after the other, so that the first has its share when the last asks for more than remains.
for (const scene of scenes) await play(cluster, scene);
const shown = [await show(cluster, "get ncapp")];
for (const { name, title, words } of scenes) {
  shown.push(`## ${title}\n\n${words}\n\n${await show(cluster, `describe ncapp ${name}`)}`);
}
await writeFile(process.argv[2] ?? "/dev/stdout", shown.join("\n"));
// The machine halts with everything on it.
process.exit(0);

async function play(cluster: Cluster, { name, script, spec, isThere }: Scene): Promise<void> {
  const shellFile = `/srv/${name}.sh`;
  await writeFile(shellFile, `#!/bin/sh\n${script}`, { mode: 0o755 });
  const app: NCApp = { apiVersion, kind, metadata: { name }, spec: { shellFile, ...spec } };
  // As from a file, without kubectl's own annotations.
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(app) });
  await waitFor(
    name,
    async () => isThere((await cluster.get<NCApp>(ncappPath("default", name))).status ?? {}),
    patienceMs,
  );
}

async function show(cluster: Cluster, words: string): Promise<string> {
  const { stdout } = await cluster.kubectl(words.split(" "));
  // The first description is shown whole, of the others what tells the story.
  const isFirst = words.startsWith("get") || words.endsWith(scenes[0]!.name);
  const text = isFirst ? withoutManagedFields(stdout) : stdout.replace(/^[^]*?^(?=Status:)/m, "…\n");
  return `\`\`\`console\n$ kubectl ${words}\n${text.trimEnd()}\n\`\`\`\n`;
}

/** kubectl before 1.21 prints managedFields, about a page; later versions do not. */
function withoutManagedFields(text: string): string {
  return text.replace(/^ {2}Managed Fields:\n(?: {4}.*\n)*/m, "");
}
