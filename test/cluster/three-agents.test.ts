/**
 * Three real agents, a real scheduler and a real API server: what happens to apps when a node is lost, and when it returns.
 *
 * The agent is killed, not the machine: its apps keep running, as on a node that the network cut off. So a moved app has two
 * instances until the agent is back; its status is that of the bound one.
 */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { agentGroup, agentLease, agentUser, leaseNamespace } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { createApp } from "../harness/create-app.ts";
import { allowPods, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { endLease } from "./end-lease.ts";
import { startSchedulerCommand } from "./scheduler-command.ts";
import { watchStories } from "./watch-stories.ts";

const nodes = ["node-1", "node-2", "node-3"];
const names = ["a", "b", "c", "d", "e", "f"];
/** Three apps fill a node, so two nodes just fit all six. */
const share = "30";

test(
  "apps of a killed agent are Unknown, then Running elsewhere; when it returns, it stops those that moved",
  { skip: skipUnless("control-plane"), timeout: 180_000 },
  async (context) => {
    await using cluster = await startControlPlane({
      users: [...defaultUsers, ...nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }))],
    });
    await installCRD(cluster);
    await allowPods(cluster);
    const admin = await cluster.clientOf("admin");
    await using opened = new AsyncDisposableStack();
    const folder = opened.use(tempFolder()).path;
    const shellFile = join(folder, "app.sh");
    // It takes its whole grace period to stop, which leaves time to see which agent reports meanwhile.
    await writeFile(shellFile, "#!/bin/sh\ntrap '' TERM\nexec sleep 86399\n", { mode: 0o755 });

    const agents = new Map<string, AgentProcess>();
    await Promise.all(nodes.map(async (node) => {
      const kubeconfig = await cluster.kubeconfigFor(agentUser(node));
      agents.set(
        node,
        opened.use(
          await startAgentProcess([
            "--kubeconfig",
            kubeconfig,
            "--node-name",
            node,
            // Only the scheduler counts the caps; this machine may be unable to enforce them.
            "--enforce",
            "best-effort",
          ]),
        ),
      );
    }));
    const scheduler = opened.use(
      await startSchedulerCommand([
        "--kubeconfig",
        await cluster.kubeconfigFor("nckubelet-scheduler"),
      ]),
    );
    const stories = opened.use(await watchStories(admin));

    const apps = async () => (await listAll<NCApp>(admin, { resource: ncapps })).items;
    const countByNode = (items: NCApp[]) =>
      nodes.map((node) => items.filter(({ spec }) => spec.nodeName === node).length);
    const allRunning = (what: string) =>
      waitFor(what, async () => {
        const items = await apps();
        const isUp = ({ spec, status }: NCApp) =>
          spec.nodeName && status?.phase === "Running" && status.pid !== undefined;
        return items.every(isUp) && items;
      }, 60_000);

    const unreachable = {
      key: "node.kubernetes.io/unreachable",
      operator: "Exists",
      effect: "NoExecute",
    } as const;
    for (const name of names) {
      const spec = {
        shellFile,
        cpuPCT: share,
        memPCT: share,
        terminationGracePeriodSeconds: 3,
        tolerations: [{ ...unreachable, tolerationSeconds: 5 }],
      };
      await createApp(admin, name, spec);
    }
    const first = await allRunning("all run");
    // Not necessarily two each: measured usage counts too, and here all nodes measure the same machine.
    assert.ok(countByNode(first).every((count) => count >= 1), `spread: ${countByNode(first)}`);
    await reachInstances("one of each lives, where it is bound to", first, nodesOf(first));

    const lost = agents.get("node-1")!;
    await lost.kill("SIGKILL");
    const killedAt = Date.now();
    await endLease(admin, { namespace: leaseNamespace, name: agentLease("node-1") });
    const left = first.filter(({ spec }) => spec.nodeName === "node-1");
    const moved = await waitFor("the apps of the lost node run elsewhere", async () => {
      const items = await apps();
      const isBack = ({ spec: { nodeName }, status }: NCApp) =>
        nodeName !== undefined && nodeName !== "node-1" && status?.phase === "Running";
      return items.every(isBack) && items;
    }, 90_000);
    context.diagnostic(`Running elsewhere ${Date.now() - killedAt} ms after the kill`);
    assert.deepEqual(countByNode(moved), [0, 3, 3], `spread over those that are left\n${scheduler.log()}`);
    for (const { metadata } of left) {
      const story = stories.of(metadata.name).map(({ node, phase }) => `${node ?? "-"} ${phase}`);
      assert.ok(story.includes("node-1 Unknown"), story.join(", "));
    }
    if (cluster.has("selectable-fields")) {
      for (const { metadata, spec } of moved) {
        await waitFor(`the Pod ${metadata.name} shows the app on its new node`, async () => {
          const path = `/api/v1/namespaces/default/pods/${metadata.name}`;
          const pod = await cluster.find<{ spec: { nodeName?: string } }>(path);
          return pod?.spec.nodeName === spec.nodeName;
        });
      }
    }
    const twice = nodesOf(moved);
    for (const { metadata } of left) twice[metadata.name]!.unshift("node-1");
    await reachInstances(
      "those of the killed agent live on, since nobody was there to stop them",
      moved,
      twice,
    );

    stories.clear();
    await lost.start();
    await reachInstances("what is not its own is stopped", moved, nodesOf(moved));
    await waitFor("it has told all that it wants to", async () => await ownApps(lost) === "");
    const last = await apps();
    assert.deepEqual(await instances(last), nodesOf(moved), "one of each, where it is bound to");
    assert.deepEqual(pids(last), pids(moved), "those that run elsewhere were left alone");
    for (const node of nodes.slice(1)) {
      const own = moved.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name);
      assert.equal(await ownApps(agents.get(node)!), own.sort().join());
    }
    for (const { metadata, spec } of moved) {
      const strange = stories.of(metadata.name)
        .filter(({ phase, node }) => phase !== "Running" || node !== spec.nodeName);
      assert.deepEqual(strange, [], `${metadata.name}: nobody but its own agent spoke for it`);
    }
    assert.doesNotMatch(scheduler.log(), / ERROR /);
  },
);

/** A new process is a shell for a moment, so this waits for the state. */
async function reachInstances(
  what: string,
  apps: NCApp[],
  expected: Record<string, string[]>,
): Promise<void> {
  let found: Record<string, string[]> = {};
  await waitFor(what, async () => isDeepStrictEqual(found = await instances(apps), expected), 60_000)
    .catch((error) => assert.deepEqual(found, expected, error.message));
}

/** Returns the nodes with live processes of each app, by its name. */
async function instances(apps: NCApp[]): Promise<Record<string, string[]>> {
  const byUid = new Map(apps.map(({ metadata }) => [metadata.uid, metadata.name]));
  const found: Record<string, string[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [line, environment] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
      readFile(`/proc/${pid}/environ`, "utf8").catch(() => ""),
    ]);
    if (!line.startsWith("sleep\0")) continue;
    const name = byUid.get(/(?:^|\0)NCAPP_UID=([^\0]*)/.exec(environment)?.[1] ?? "");
    if (name) found[name]!.push(/(?:^|\0)NODE_NAME=([^\0]*)/.exec(environment)?.[1] ?? "");
  }
  for (const places of Object.values(found)) places.sort();
  return found;
}

function nodesOf(apps: NCApp[]): Record<string, string[]> {
  return Object.fromEntries(apps.map(({ metadata, spec }) => [metadata.name, [spec.nodeName ?? ""]]));
}

function pids(apps: NCApp[]): Record<string, number | undefined> {
  return Object.fromEntries(apps.map(({ metadata, status }) => [metadata.name, status?.pid]));
}

async function ownApps({ url }: AgentProcess): Promise<string> {
  const { items } = await (await fetch(`${url}/apps`)).json() as { items: NCApp[] };
  return items.map(({ metadata }) => metadata.name).sort().join();
}
