/**
 * Out-of-memory kills and fork bombs, on a kernel that can limit apps: a standalone agent, killed in the middle, under the
 * invariants of the storm. The other apps must not notice.
 */
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { apiVersion } from "../../../../src/api/names.ts";
import type { NCApp } from "../../../../src/api/types.ts";
import { type AgentProcess, startAgentProcess } from "../../../agent-process.ts";
import { tempFolder } from "../../../temp-folder.ts";
import { waitFor } from "../../../wait-for.ts";
import { gather, type Sources } from "../gather.ts";
import { agentsReady } from "../invariants/agents-ready.ts";
import { exitCodes } from "../invariants/exit-codes.ts";
import { logLines } from "../invariants/log-lines.ts";
import { noLeaks } from "../invariants/no-leaks.ts";
import { oneInstance } from "../invariants/one-instance.ts";
import { stoppedForAReason } from "../invariants/stopped-for-a-reason.ts";
import { type KindName, specOf } from "../kinds.ts";
import { ask, type StormApp } from "../ledger.ts";
import { findLive } from "../live.ts";

const rounds = 3;
const patienceMs = 120_000;
const invariants = [oneInstance, stoppedForAReason, exitCodes, logLines, noLeaks, agentsReady];
const stormId = `${process.pid}-starved`;
const temp = tempFolder();
const folder = temp.path;
let agent: AgentProcess;
let sources: Sources;
const apps = new Map<string, StormApp>();
const past: StormApp[] = [];

before(async () => {
  for (const name of ["manifests", "lines"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "witness"), "");
  agent = await startAgentProcess([
    ...["--standalone", "--manifests", join(folder, "manifests"), "--node-name", "guest"],
    ...["--sync-period", "1s", "--report-period", "2s"],
  ]);
  sources = {
    stormId,
    workload: { objects, list: () => [...apps.values()], past },
    nodes: [{
      name: "guest",
      stateDir: join(agent.folder, "state"),
      logDir: join(agent.folder, "log"),
      get url() {
        return agent.url;
      },
      log: async () => agent.log(),
    }],
    witnessFile: join(folder, "witness"),
    linesDir: join(folder, "lines"),
    filledLogs: new Set(),
  };
});

after(async () => {
  await agent[Symbol.asyncDispose]();
  temp.remove();
});

async function objects(): Promise<NCApp[]> {
  const { items } = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
  return items.map((app) => ({ ...app, spec: { ...app.spec, nodeName: "guest" } }));
}

async function create(kind: KindName, name: string): Promise<StormApp> {
  const witness = {
    STORM_ID: stormId,
    STORM_PID: String(process.pid),
    STORM_WITNESS: join(folder, "witness"),
    STORM_LINES: join(folder, "lines"),
  };
  const object = { apiVersion, kind: "NCApp", metadata: { name }, spec: specOf(kind, witness) };
  await writeFile(join(folder, "manifests", `${name}.json`), JSON.stringify(object));
  const { metadata } = await reach(name, "known", () => true);
  const app: StormApp = { name, kind, uid: metadata.uid ?? "", asks: [], suspended: false };
  apps.set(name, app);
  return app;
}

async function remove(app: StormApp): Promise<void> {
  ask(app, "delete");
  apps.delete(app.name);
  past.push(app);
  await rm(join(folder, "manifests", `${app.name}.json`));
}

function reach(name: string, what: string, isThere: (app: NCApp) => boolean): Promise<NCApp> {
  return waitFor(`${name}: ${what}`, async () => {
    const app = (await objects().catch(() => [])).find(({ metadata }) => metadata.name === name);
    return app && isThere(app) ? app : undefined;
  }, patienceMs);
}

async function complaints(): Promise<string[]> {
  const evidence = await gather(sources);
  return invariants.flatMap(({ judge }) => evidence ? judge(evidence) : ["no evidence"]);
}

test(`${rounds} rounds of OOM kills and fork bombs, with kill -9 of the agent in each, break no invariant`, async () => {
  await create("ticker", "steady");
  const { status: first } = await reach("steady", "Running", ({ status }) => status?.phase === "Running");
  for (let round = 0; round < rounds; round++) {
    const bomb = await create("bomb", `bomb-${round}`);
    const isFull = async () => (await findLive(stormId)).filter(({ uid }) => uid === bomb.uid).length >= 15;
    await waitFor("the bomb has gone off", isFull, patienceMs);
    const hog = await create("hog", `hog-${round}`);
    // The kernel kills it, as expected.
    ask(hog, "kill");
    await agent.kill("SIGKILL");
    await agent.start();
    const { status } = await reach(hog.name, "ended", ({ status }) => status?.phase === "Failed");
    assert.deepEqual([status?.lastExit?.reason, status?.lastExit?.code], ["OOMKilled", 137]);
    await remove(bomb);
    await remove(hog);
    let last: string[] = [];
    await waitFor("nothing to complain about", async () => {
      last = await complaints();
      return last.length === 0;
    }, patienceMs).catch((error) => assert.fail(`${error.message}:\n${last.join("\n")}\n${agent.log()}`));
  }
  const { status: end } = await reach("steady", "there", () => true);
  assert.deepEqual([end?.pid, end?.restarts, end?.phase], [first?.pid, 0, "Running"]);
});
