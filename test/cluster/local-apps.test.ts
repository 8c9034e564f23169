/**
 * Local apps at a real API server, as an agent with the shipped roles shows them: those at rest, those of another namespace; and the
 * Node of an agent whose disk is broken.
 */
import assert from "node:assert/strict";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentUser } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { ncappPath, nodes, resourcePath } from "../../src/kube/resources.ts";
import type { Node } from "../../src/node/node-object.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowMirrors, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const patienceMs = 120_000;

describe("local apps at a real API server", { skip: skipUnless("control-plane"), timeout: 400_000 }, () => {
  let cluster: Cluster;
  const temp = tempFolder();
  const folder = temp.path;
  let kubeconfig = "";

  before(async () => {
    cluster = await startControlPlane();
    await installCRD(cluster);
    await allowMirrors(cluster);
    kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
  });
  after(async () => {
    await cluster?.stop();
    temp.remove();
  });

  const start = (...flags: string[]) =>
    startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a", ...flags]);
  const script = async (name: string, text: string) => {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  const run = async (agent: AgentProcess, shellFile: string, ...words: string[]) => {
    const { code, stderr } = await agent.command("run", shellFile, ...words, "--socket", agent.socket);
    assert.equal(code, 0, stderr);
  };
  const find = (name: string, namespace = "default") => cluster.find<NCApp>(ncappPath(namespace, name));
  const inPhase = (name: string, phase: string, isWanted: (app: NCApp) => boolean = () => true) =>
    waitFor(`${name} is shown as ${phase}`, async () => {
      const app = await find(name);
      return app?.status?.phase === phase && isWanted(app) && app;
    }, patienceMs);
  /** Returns the number of matching requests that the agent has made. */
  const requests = async (agent: AgentProcess, ...resources: string[]) => {
    const text = await (await fetch(`${agent.url}/metrics`)).text();
    return text.split("\n")
      .filter((line) => line.startsWith("nckubelet_api_requests_total{"))
      .filter((line) => resources.some((resource) => line.includes(`resource="${resource}"`)))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };

  test("an agent that has not compared mirrors yet shows the start and the end of a job that ends at once", async () => {
    await using agent = await start("--sync-period", "1h");
    await run(agent, await script("job.sh", "exit 0"), "--name", "job", "--restart", "never");
    const { metadata } = await inPhase("job", "Succeeded");
    assert.match((await cluster.kubectl(["get", "ncapp", "job"])).stdout, /^job +node-a +Succeeded +false/m);
    await waitFor("its start is there", async () => {
      const { stdout } = await cluster.kubectl(["describe", "ncapp", "job"]);
      return /Normal +Started .* nckubelet.* Started \S+job.sh as process/.test(stdout);
    });

    await agent.kill();
    await cluster.kubectl(["delete", "ncapp", "job"]);
    await agent.start();
    await inPhase("job", "Succeeded", (app) => app.metadata.uid !== metadata.uid);
  });

  test("an agent of one namespace mirrors local apps of that namespace only, and moves its mirrors along", async () => {
    await cluster.kubectl(["create", "namespace", "edge"]);
    await allowMirrors(cluster, "edge");
    await using agent = await start("--namespace", "edge", "--sync-period", "1s");
    const shellFile = await script("long.sh", "exec sleep 600");
    await run(agent, shellFile, "--name", "other");
    await run(agent, shellFile, "--name", "own", "--namespace", "edge");
    await waitFor("the mirror is told", async () => (await find("own", "edge"))?.status?.phase === "Running");
    await waitFor("it says what it does not show", () => agent.log().includes("has no mirror"));
    assert.equal(agent.log().match(/has no mirror.*app=default\/other/g)?.length, 1);
    assert.equal(await find("other"), undefined);
    const { code } = await agent.command("delete", "own", "--namespace", "edge", "--socket", agent.socket);
    assert.equal(code, 0);
    await waitFor("the mirror goes with its app", async () => await find("own", "edge") === undefined);
  });

  // Both wait for what an agent does every 10 s, and each has a node of its own.
  describe("while not much happens", { concurrency: true }, () => {
    test("a deleted mirror of an idle app comes back with its status, and no request follows", async () => {
      await using agent = await start("--sync-period", "1s");
      const bad = await script("bad.sh", "echo no luck; exit 3");
      // The result of the command does not matter here.
      await agent.command(
        "run",
        bad,
        "--name",
        "bad",
        "--restart",
        "never",
        "--keep",
        "--socket",
        agent.socket,
      );
      const { metadata } = await inPhase("bad", "Failed");
      await cluster.kubectl(["delete", "ncapp", "bad"]);
      const { status } = await inPhase("bad", "Failed", (app) => app.metadata.uid !== metadata.uid);
      assert.equal(status?.lastExit?.code, 3);

      const asked = () => requests(agent, "ncapps", "ncapps/status", "events");
      const renewals = () => requests(agent, "leases");
      const renewed = async () => {
        const before = await renewals();
        await waitFor("a Lease is renewed", async () => await renewals() > before);
      };
      await renewed();
      const before = await asked();
      await renewed();
      assert.equal(await asked(), before);
    });

    describe("a node with a broken disk", { concurrency: 1 }, () => {
      let agent: AgentProcess;
      let pid: number | undefined;

      before(async () => {
        agent = await startAgentProcess([
          ...["--kubeconfig", cluster.kubeconfig, "--node-name", "node-c", "--with-scheduler"],
          ...["--sync-period", "1s"],
        ]);
      });
      after(() => agent?.[Symbol.asyncDispose]());

      const apply = async (name: string) => {
        const shellFile = await script("steady.sh", "exec sleep 600");
        const nodeSelector = { "kubernetes.io/hostname": "node-c" };
        await cluster.apply(manifest(name, { shellFile, nodeSelector }));
      };
      const nodeIs = (status: string) =>
        waitFor(`the node is ${status}`, async () => {
          const node = await cluster.find<Node>(resourcePath(nodes, { name: "node-c" }));
          const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
          if ((ready?.status === "True") !== (status === "Ready")) return false;
          const { stdout } = await cluster.kubectl(["get", "node", "node-c"]);
          return new RegExp(`^node-c +${status} `, "m").test(stdout);
        }, patienceMs);
      const cmdline = () => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");

      test("is not ready, gets no more apps and keeps running ones", async () => {
        await nodeIs("Ready");
        await apply("steady");
        pid = (await inPhase("steady", "Running", ({ status }) => status?.pid !== undefined)).status?.pid;

        const logs = join(agent.folder, "log");
        await rename(logs, `${logs}-away`);
        await nodeIs("NotReady");
        const { stdout } = await cluster.kubectl(["describe", "node", "node-c"]);
        assert.match(stdout, /Ready +False .* AgentNotReady +disk: \S+\/log cannot be written to: ENOENT/);
        await apply("later");
        const later = await waitFor("it finds no place", async () => {
          const app = await find("later");
          return app?.status?.message?.includes("1 not ready") && app;
        });
        assert.equal(later.spec.nodeName, undefined);
        const { spec, status } = (await find("steady"))!;
        assert.deepEqual([spec.nodeName, status?.phase, status?.pid, status?.restarts], [
          ...["node-c", "Running", pid, 0],
        ]);
        assert.match(await cmdline(), /^sleep/);
      });

      test("recovers, gets apps again and has kept the running ones", async () => {
        const logs = join(agent.folder, "log");
        await rename(`${logs}-away`, logs);
        await nodeIs("Ready");
        await inPhase("later", "Running");
        assert.match(await cmdline(), /^sleep/);
        await cluster.kubectl(["delete", "ncapp", "steady", "later"]);
      });
    });
  });
});
