/**
 * Whatever happens to the API server and to etcd, apps keep running, and the agent neither floods a server that comes back nor
 * loses reports about what happened meanwhile. The agent has the shipped roles and no more.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { agentUser, apiVersion, kind } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const path = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const names = Array.from({ length: 10 }, (_, number) => `app-${number}`);
/** Jobs that run until their file exists: they end while the API server is down. */
const jobs = Array.from({ length: 9 }, (_, number) => `job-${number}`);
/** Longer than any wait of the agent, so that only an agent that does not recover fails. */
const patienceMs = 60_000;

describe("an agent whose API server dies again and again", { skip: skipUnless("control-plane") }, () => {
  let cluster: Cluster;
  let agent: AgentProcess;
  const temp = tempFolder();
  const folder = temp.path;
  let pids: Map<string, number | undefined>;
  const ended = new Set<string>();

  before(async () => {
    cluster = await startControlPlane();
    await installCRD(cluster);
    const kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
    agent = await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]);
    const script = async (name: string, text: string) => {
      await writeFile(join(folder, name), `#!/bin/sh\necho $NCAPP_NAME >>${folder}/starts\n${text}\n`, {
        mode: 0o755,
      });
      return join(folder, name);
    };
    const app = await script("app.sh", "exec sleep 600");
    const job = await script("job.sh", `until [ -e ${folder}/$NCAPP_NAME ]; do sleep 0.2; done`);
    for (const name of names) await create(name, { shellFile: app });
    for (const name of jobs) await create(name, { shellFile: job, restartPolicy: "Never" });
    await converged();
    pids = new Map((await read()).map(({ metadata, status }) => [metadata.name, status?.pid]));
  });

  after(async () => {
    await agent?.[Symbol.asyncDispose]();
    await cluster?.stop();
    temp.remove();
  });

  const create = async (name: string, spec: object) => {
    const body = { apiVersion, kind, metadata: { name }, spec: { nodeName: "node-a", ...spec } };
    assert.equal((await cluster.request(path, { method: "POST", body })).status, 201);
  };
  const read = async () => (await cluster.get<{ items: NCApp[] }>(path)).items;

  /** Waits until the server's status of every app matches the node. */
  const converged = () =>
    waitFor("the status of all apps is that of the node", async () => {
      const apps = await read().catch(() => []);
      const isTold = ({ metadata, status }: NCApp) =>
        status?.phase === (ended.has(metadata.name) ? "Succeeded" : "Running");
      return apps.length === names.length + jobs.length && apps.every(isTold);
    }, patienceMs);

  const endJob = async () => {
    const job = jobs[ended.size]!;
    ended.add(job);
    await writeFile(join(folder, job), "");
  };

  /** Returns the number of matching requests that the agent has made. */
  const requests = async (...labels: string[]): Promise<number> => {
    const text = await (await fetch(`${agent.url}/metrics`)).text();
    return text.split("\n")
      .filter((line) =>
        line.startsWith("nckubelet_api_requests_total{") && labels.every((label) => line.includes(label))
      )
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };

  /** Starts counting; the result is in requests per second. */
  const startRate = async () => {
    const count = async () => ({ all: await requests(), unanswered: await requests('code="0"') });
    const [startedAt, before] = [performance.now(), await count()];
    return async () => {
      const [now, seconds] = [await count(), (performance.now() - startedAt) / 1000];
      return {
        all: (now.all - before.all) / seconds,
        unanswered: (now.unanswered - before.unanswered) / seconds,
      };
    };
  };

  const lists = () => requests('resource="ncapps"', 'verb="list"', 'code="200"');
  /** Returns the number of watches that began with a list, since the API server started: servers since 1.34 have them. */
  const streamedLists = async (): Promise<number> =>
    (await cluster.request("/metrics")).body.split("\n")
      .filter((line) => line.startsWith("apiserver_watch_list_duration_seconds_count{"))
      .filter((line) => line.includes('resource="ncapps"'))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);

  const assertUntouched = async () => {
    const starts = (await readFile(join(folder, "starts"), "utf8")).trim().split("\n").sort();
    assert.deepEqual(starts, [...names, ...jobs], "each app started once");
    for (const { metadata: { name }, status } of await read()) {
      assert.deepEqual(
        [status?.pid, status?.restarts],
        [ended.has(name) ? undefined : pids.get(name), 0],
        name,
      );
    }
  };

  const accepts = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(new URL(cluster.server).port), "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      }).on("error", () => resolve(false));
    });

  test("20 kills of the API server restart no app, cost few requests, and delay reports only until it is back", async (t) => {
    const rate = await startRate();
    const times: number[] = [];
    for (let kill = 1; kill <= 20; kill++) {
      await cluster.apiServer.kill("SIGKILL");
      // Usually it dies right after opening its port, before it has loaded its roles.
      if (kill % 4 !== 0) {
        await cluster.apiServer.start({ isReady: accepts });
        continue;
      }
      await endJob();
      await cluster.apiServer.start();
      times.push(await timed(converged));
    }
    const { all, unanswered } = await rate();
    tell(t, times, all);
    assert.ok(
      unanswered < 1,
      `${unanswered.toFixed(2)} requests a second went to a server that was not there`,
    );
    await assertUntouched();
  });

  test("kills of etcd under a running API server restart no app, and delay reports only until it is back", async (t) => {
    const rate = await startRate();
    const times: number[] = [];
    for (let kill = 1; kill <= 3; kill++) {
      await cluster.etcd.kill("SIGKILL");
      await endJob();
      await cluster.etcd.start();
      times.push(await timed(converged));
    }
    tell(t, times, (await rate()).all);
    await assertUntouched();
  });

  test("after a compaction the agent lists exactly once", async () => {
    const before = await lists();
    // A compaction keeps the newest version, and that is the agent's if one of its apps was the last thing to change.
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "newest" } };
    const { status } = await cluster.request("/api/v1/namespaces/default/configmaps", {
      method: "POST",
      body,
    });
    assert.equal(status, 201);
    await cluster.apiServer.kill("SIGKILL");
    await endJob();
    await cluster.compact();
    await cluster.apiServer.start();
    await converged();
    // An app that arrives through the watch shows that the agent has finished its lists.
    await create("late", {});
    await waitFor(
      "the late app is known",
      async () => (await fetch(`${agent.url}/apps/default/late`)).ok,
      patienceMs,
    );
    assert.equal(await lists() - before + await streamedLists(), 1);
    await cluster.request(`${path}/late`, { method: "DELETE" });
    await assertUntouched();
  });
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function tell(t: TestContext, times: number[], perSecond: number): void {
  const seconds = times.map((ms) => (ms / 1000).toFixed(1)).join(", ");
  t.diagnostic(
    `converged ${seconds} s after the return; ${perSecond.toFixed(2)} requests a second on average`,
  );
}
