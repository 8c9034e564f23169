/**
 * Writes docs/kubectl.md from a real run: etcd, kube-apiserver, agent and scheduler in one guest with cgroup v2, and what kubectl
 * shows there. Takes some minutes: `node_modules/.bin/node test/cluster/story.ts`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { inGuest } from "../harness/guest.ts";
import { checkout } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";

const opening = `# What kubectl shows

Four apps on a node \`edge-7\`, applied without a \`nodeName\`: the scheduler binds them, the node's agent runs
them and tells how they are. All of it is from one run of \`node_modules/.bin/node test/cluster/story.ts\` (Kubernetes 1.20, etcd
and nckubelet on one machine with one CPU and cgroup v2); only what kubectl before 1.21 prints about managed
fields is left out. \`kubectl get nca\` is the same as \`kubectl get ncapp\`.

CPU and MEM are in percent of the node.

`;

// Files of the guest are in its memory, so that nothing is left of the scripts in /srv.
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
