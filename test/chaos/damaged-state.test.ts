import assert from "node:assert/strict";
import { mkdir, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { decodeRecord, encodeRecord } from "../../src/supervisor/records/records.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { createRandom, type Random } from "../random.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { type Bystander, startBystander } from "./bystander.ts";
import { writeDamaged } from "./damage.ts";

/** Side by side: a lost mark takes an agent the time that a launcher has to start its script. */
const nodes = 3;
const rounds = 2;
const ghosts = 145;
/** Apps by the damaged file: their record, a mark of their launcher, or both. */
const apps = { record: 12, claim: 4, started: 4, both: 2 };
const names = Object.entries(apps).flatMap(([part, count]) => range(count).map((n) => `${part}-${n}`));
const damaged = nodes * rounds * (names.length + ghosts + 1);

test("1,000 torn, empty and bit-flipped state files: the agent always starts, every app keeps running, no other process is signaled", async (t) => {
  assert.ok(damaged >= 1000);
  await using bystander = await startBystander();
  await Promise.all(range(nodes).map((node) => damageNode(bystander, createRandom(node))));
  assert.equal(bystander.fate(), "");
  t.diagnostic(`${damaged} files were damaged`);
});

/** Damages the state of an agent in each round, and checks what the agent makes of it. */
async function damageNode(bystander: Bystander, random: Random): Promise<void> {
  await using place = await createPlace();
  // Without a cgroup, processes are found by their markers, which depends on the records most.
  await using agent = await startAgentProcess([
    "--standalone",
    "--manifests",
    place.manifests,
    "--cgroup-root",
    place.folder,
  ]);
  const allRun = async () => (await running(agent)).length === names.length;
  await waitFor("all run", allRun, 60_000);
  const before = await place.instances();
  const state = join(agent.folder, "state");
  const marks = await readMarkFiles(state);

  for (let round = 0; round < rounds; round++) {
    await agent.kill("SIGKILL");
    const logged = agent.log().length;
    for (const name of names.filter((name) => /^(record|both)/.test(name))) {
      await writeDamaged(recordOf(state, name), await readFile(recordOf(state, name)), random);
    }
    for (const { path, content } of marks) await writeDamaged(path, content, random);
    const lock = join(state, "agent.lock");
    const target = new TextEncoder().encode(await readlink(lock));
    await rm(lock);
    await writeDamaged(lock, target, random);
    for (const name of range(ghosts).map((n) => `ghost-${n}`)) {
      await mkdir(dirname(recordOf(state, name)), { recursive: true });
      const whole = new TextEncoder().encode(encodeRecord(bystander.recordOf(name)));
      await writeDamaged(recordOf(state, name), whole, random);
    }
    await agent.start();
    await waitFor(`all run in round ${round}`, allRun, 60_000);
    const setAside = agent.log().slice(logged).split("setting a state file aside").length - 1;
    assert.equal(setAside, ghosts + apps.record + apps.both, `round ${round}`);
  }

  assert.deepEqual(await place.instances(), before, "no app was started a second time");
  const list = await running(agent);
  assert.deepEqual(list.map(({ metadata }) => metadata.name).sort(), [...names].sort());
  assert.deepEqual(list.filter(({ status }) => status?.restarts !== 0), []);
  const kept = await readdir(dirname(recordOf(state, "record-0")));
  assert.equal(kept.filter((file) => file.startsWith("record.json.bad-")).length, rounds);

  await place.want([]);
  await waitFor("all apps have been stopped", async () => (await listApps(agent)).length === 0);
  // No manifest asks for a ghost.
  assert.deepEqual(await readdir(join(state, "apps")), []);
  assert.deepEqual(await readdir(join(agent.folder, "log")), []);
}

/** A folder with a script that writes its process id, and the manifests of all apps. */
async function createPlace() {
  const temp = tempFolder();
  const folder = temp.path;
  const manifests = join(folder, "manifests");
  const shellFile = join(folder, "app.sh");
  await mkdir(manifests);
  const text = `#!/bin/sh\necho $$ >>"${folder}/$NCAPP_NAME.instances"\nexec sleep 300\n`;
  await writeFile(shellFile, text, { mode: 0o755 });
  const want = async (names: string[]) => {
    const items = names.map((name) => manifest(name, { shellFile }));
    await writeFile(join(manifests, "apps.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  };
  await want(names);
  return {
    folder,
    manifests,
    want,
    /** The processes of each app so far. */
    instances: () => Promise.all(names.map((name) => readFile(join(folder, `${name}.instances`), "utf8"))),
    [Symbol.dispose]: temp.remove,
  };
}

/** The original content of the marks that will be damaged, by app. */
async function readMarkFiles(state: string) {
  const runs = await Promise.all((await readdir(join(state, "runs"))).map(async (runId) => {
    const record = decodeRecord(await readFile(join(state, "runs", runId, "record.json"), "utf8"));
    return { runId, name: record.app.metadata.name };
  }));
  const marked = runs.filter(({ name }) => !name.startsWith("record"));
  return await Promise.all(marked.map(async ({ runId, name }) => {
    const path = join(state, "marks", `${runId}.${name.startsWith("claim") ? "claim" : "started"}`);
    return { name, path, content: await readFile(path) };
  }));
}

function recordOf(state: string, name: string): string {
  return join(state, "apps", `default_${name}`, "record.json");
}

async function listApps(agent: AgentProcess): Promise<NCApp[]> {
  return (await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] }).items;
}

async function running(agent: AgentProcess): Promise<NCApp[]> {
  return (await listApps(agent)).filter(({ status }) => status?.phase === "Running");
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
