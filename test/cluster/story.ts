/**
 * Writes docs/kubectl.md from a real run: etcd, kube-apiserver, agent and scheduler in one guest with cgroup v2, and the output of
 * kubectl there. Takes some minutes: `node_modules/.bin/node test/cluster/story.ts`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { inGuest } from "../harness/guest.ts";
import { checkout } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";

const opening = `# What kubectl shows

This page shows four apps on the node \`edge-7\`, applied without a \`nodeName\`: the scheduler binds them, and the
agent of the node runs them and reports their status. The output is from one run of
\`node_modules/.bin/node test/cluster/story.ts\` (Kubernetes 1.20, etcd and nckubelet on one machine with one CPU and
cgroup v2), without the managed fields that kubectl before 1.21 prints. \`kubectl get nca\` is short for
\`kubectl get ncapp\`.

CPU and MEM are in percent of the node.

`;

// The guest keeps its files in memory, so that the scripts in /srv leave nothing behind.
process.env.NCKUBELET_GUEST = "uml";
using temp = tempFolder();
const share = temp.path;
const script = "node test/cluster/story-inside.ts $SHARE/story.md";
const { code, output } = await inGuest(script, {
  memory: "3072M",
  timeoutMs: 1_500_000,
  share,
  hide: ["/srv"],
});
if (code !== 0) throw new Error(`the guest ended with ${code}:\n${output}`);
await writeFile(
  join(checkout, "docs", "kubectl.md"),
  opening + await readFile(join(share, "story.md"), "utf8"),
);
