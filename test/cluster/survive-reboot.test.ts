/**
 * A node that boots after a power cut while its API server is down: the agent has only its state on disk.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { agentUser, apiVersion, kind } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { startAgentProcess } from "../agent-process.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowMirrors, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const isRoot = process.getuid?.() === 0;
const skip = skipUnless("control-plane") ||
  !isRoot && "another boot is another boot id, which only root can put there";
const patienceMs = 60_000;

test(
  "after a reboot without an API server a node runs its last known apps, and reports once the server is back",
  { skip },
  async () => {
    await using cluster = await startControlPlane();
    await installCRD(cluster);
    await allowMirrors(cluster);
    using temp = tempFolder();
    const folder = temp.path;
    const manifests = join(folder, "manifests");
    await mkdir(manifests);
    const starts = async (name: string) =>
      (await readFile(join(folder, "starts"), "utf8")).split("\n").filter((line) => line === name).length;
    const manifest = async (name: string, text: string, spec: object = {}): Promise<string> => {
      const shellFile = join(folder, `${name}.sh`);
      await writeFile(shellFile, `#!/bin/sh\necho ${name} >>${folder}/starts\n${text}\n`, { mode: 0o755 });
      return JSON.stringify({ apiVersion, kind, metadata: { name }, spec: { shellFile, ...spec } });
    };
    const ofServer = (name: string) => cluster.get<NCApp>(ncappPath("default", name));

    const kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
    await using agent = await startAgentProcess([
      ...["--kubeconfig", kubeconfig, "--node-name", "node-a"],
      ...["--manifests", manifests, "--sync-period", "1s"],
    ]);
    const ofAgent = async (name: string): Promise<NCApp | undefined> => {
      const answer = await fetch(`${agent.url}/apps/default/${name}`);
      return answer.ok ? await answer.json() as NCApp : undefined;
    };
    const reach = (name: string, phase: string, look = ofAgent) =>
      waitFor(`${name} is ${phase}`, async () => {
        const app = await look(name);
        return app?.status?.phase === phase ? app : undefined;
      }, patienceMs);

    for (
      const input of [
        await manifest("web", "exec sleep 600", { nodeName: "node-a" }),
        await manifest("once", "exit 0", { nodeName: "node-a", restartPolicy: "Never" }),
      ]
    ) await cluster.kubectl(["apply", "-f", "-"], { input });
    const before = await reach("web", "Running", ofServer);
    await reach("once", "Succeeded", ofServer);
    await cluster.apiServer.kill("SIGKILL");
    await writeFile(join(manifests, "local.json"), await manifest("local", "exec sleep 600"));
    await reach("local", "Running");

    await agent.reboot();
    await agent.start();
    for (const name of ["web", "local"]) {
      const { status } = await reach(name, "Running");
      assert.equal(status?.lastExit?.reason, "NodeRebooted", name);
      await waitFor(`the first line of ${name} has run again`, async () => await starts(name) === 2);
    }
    assert.equal((await reach("once", "Succeeded")).metadata.name, "once");
    assert.equal(await starts("once"), 1, "what has ended for good does not run again");

    await cluster.apiServer.start();
    const { metadata, status } = await waitFor("the server has the new process of web", async () => {
      const app = await ofServer("web");
      return app.status?.phase === "Running" && app.status.pid !== before.status?.pid ? app : undefined;
    }, patienceMs);
    assert.equal(metadata.uid, before.metadata.uid);
    assert.equal(status?.lastExit?.reason, "NodeRebooted");
    await waitFor(
      "the mirror is there",
      async () => await cluster.find(ncappPath("default", "local")) !== undefined,
      patienceMs,
    );
    const mirror = await reach("local", "Running", ofServer);
    assert.match(mirror.metadata.annotations?.["app.example.com/config.mirror"] ?? "", /^node-a/);
    assert.deepEqual([await starts("web"), await starts("local"), await starts("once")], [2, 2, 1]);
  },
);
