/** `agent --with-controller` and its old name on a real API server, with the roles of crd/rbac.yaml. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentUser, schedulerGroup, schedulerLease, systemNamespace } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { endLease } from "./end-lease.ts";

describe(
  "controllers within the agent",
  { skip: skipUnless("control-plane"), timeout: 240_000 },
  () => {
    let cluster: Cluster;
    let admin: KubeClient;
    const temp = tempFolder();
    const folder = temp.path;
    let shellFile = "";

    before(async () => {
      cluster = await startControlPlane();
      await installCRD(cluster);
      admin = await cluster.clientOf("admin");
      shellFile = join(folder, "app.sh");
      await writeFile(shellFile, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
      // Agents by their names, not by their group, as docs/scheduler.md recommends.
      for (const node of ["node-a", "node-b"]) {
        const binding = [`nckubelet-agent-${node}`, `--user=${agentUser(node)}`];
        await cluster.kubectl(["create", "clusterrolebinding", ...binding, "--clusterrole=nckubelet-agent"]);
        const own = ["-n", "kube-node-lease", "create", "rolebinding", ...binding, "--role=nckubelet-agent"];
        await cluster.kubectl(own);
      }
    });
    after(async () => {
      await cluster?.stop();
      temp.remove();
    });

    const apply = (name: string, nodeName?: string) => cluster.apply(manifest(name, { shellFile, nodeName }));
    const running = (name: string) =>
      waitFor(`${name} runs`, async () => {
        const { spec, status } = await cluster.get<NCApp>(ncappPath("default", name));
        const isUp = status?.phase === "Running" && status.pid !== undefined;
        return isUp && { node: spec.nodeName ?? "", pid: status.pid! };
      }, 60_000);
    const leader = (isWanted: (node: string) => boolean) =>
      waitFor("a leader", async () => {
        const path = `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases/${schedulerLease}`;
        const { body } = await cluster.request(path);
        const holder = (JSON.parse(body) as { spec?: { holderIdentity?: string } }).spec?.holderIdentity;
        const node = holder?.split("_")[0];
        return node !== undefined && isWanted(node) && node;
      }, 60_000);
    const isAlive = (pid: number) =>
      readFile(`/proc/${pid}/cmdline`).then(({ length }) => length > 0, () => false);

    test("an agent without permission to schedule logs one line, does its own work, and schedules once it may", async () => {
      const user = agentUser("node-a");
      const kubeconfig = await cluster.certificateKubeconfigFor({ name: user, groups: [] });
      await using agent = await startAgentProcess([
        "--kubeconfig",
        kubeconfig,
        "--node-name",
        "node-a",
        "--with-scheduler",
      ]);
      await apply("own", "node-a");
      await running("own");
      await apply("waits");
      assert.match(agent.log(), / WARN +with-scheduler runs only the scheduler: use with-controller/);
      const refusals = () => agent.log().split("\n").filter((line) => line.includes("--with-controller"));
      await waitFor("it is refused", () => refusals().length > 0);
      assert.match(
        refusals()[0]!,
        / WARN +.* does not let this agent's user patch ncapps, list\/watch nodes, /,
      );
      assert.match(
        refusals()[0]!,
        /bind the roles nckubelet-scheduler and nckubelet-sets to it, and take it out of the groups of agents/,
      );
      assert.equal((await fetch(`${agent.url}/readyz`)).status, 200);

      const binding = ["nckubelet-scheduler-node-a", `--user=${user}`];
      await cluster.kubectl([
        "create",
        "clusterrolebinding",
        ...binding,
        "--clusterrole=nckubelet-scheduler",
      ]);
      for (const namespace of [systemNamespace, "kube-node-lease"]) {
        const words = ["-n", namespace, "create", "rolebinding", ...binding, "--role=nckubelet-scheduler"];
        await cluster.kubectl(words);
      }
      assert.equal((await running("waits")).node, "node-a");
      // It may have checked between two of the bindings, and then lacks fewer rights.
      const said = refusals().map((line) => line.slice(line.indexOf("--with-controller")));
      assert.equal(new Set(said).size, said.length, "the same is said once, however often it asked");
      assert.doesNotMatch(agent.log(), / ERROR /);
      await cluster.kubectl(["delete", "ncapp", "own", "waits"]);
      await waitFor("all have stopped", async () => {
        const { items } = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
        return items.length === 0;
      });
    });

    test("of two agents one leads; when it is killed the other takes over, and its apps keep running", async () => {
      const start = async (node: string) => {
        const user = { name: agentUser(node), groups: [schedulerGroup] };
        const kubeconfig = await cluster.certificateKubeconfigFor(user);
        return await startAgentProcess([
          "--kubeconfig",
          kubeconfig,
          "--node-name",
          node,
          "--with-controller",
        ]);
      };
      await using a = await start("node-a");
      await using b = await start("node-b");
      const agents = { "node-a": a, "node-b": b };
      const first = await leader((node) => node in agents) as keyof typeof agents;
      const second = first === "node-a" ? "node-b" : "node-a";
      await apply("steady", first);
      const { pid } = await running("steady");

      await agents[first].kill("SIGKILL");
      await endLease(admin, { namespace: systemNamespace, name: schedulerLease });
      // Its Lease is fresh for another 40 s: until then only this keeps apps away.
      await cluster.kubectl(["cordon", first]);
      await apply("next");
      assert.equal((await running("next")).node, second);
      assert.equal(await leader(() => true), second);
      assert.ok(await isAlive(pid), "the apps of a killed agent run on");

      await agents[first].start();
      assert.equal((await running("steady")).pid, pid);
      // It stops gracefully and releases the Lease.
      await agents[second].kill("SIGTERM");
      assert.equal(await leader((node) => node === first), first);
      assert.ok(await isAlive(pid), "nor does it matter to them who leads");
      await agents[second].start();
    });
  },
);
