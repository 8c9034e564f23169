import assert from "node:assert/strict";
import { mkdir, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { decodeRecord, encodeRecord } from "../../src/supervisor/records/record-store.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { createRandom } from "../random.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startBystander } from "./bystander.ts";
import { writeDamaged } from "./damage.ts";

const rounds = 10;
const ghosts = 89;
/** Apps by the damaged file: their record, a mark of their launcher, or in the last rounds both. */
const apps = { record: 6, claim: 2, started: 2, both: 1 };
const names = Object.entries(apps).flatMap(([part, count]) => range(count).map((n) => `${part}-${n}`));

test("1,000 torn, empty and bit-flipped state files: the agent always starts, every app keeps running, no other process is signaled", async (t) => {
  await using place = await createPlace();
  await using bystander = await startBystander();
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

  const random = createRandom(4);
  let [damaged, setAside] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    await agent.kill("SIGKILL");
    const logged = agent.log().length;
    const kinds = round < rounds - 5 ? ["record", "claim", "started"] : Object.keys(apps);
    const isHit = (name: string) => kinds.some((kind) => name.startsWith(kind));
    const hit = names.filter(isHit);
    for (const name of hit.filter((name) => /^(record|both)/.test(name))) {
      await writeDamaged(recordOf(state, name), await readFile(recordOf(state, name)), random);
    }
    for (const { path, content } of marks.filter(({ name }) => isHit(name))) {
      await writeDamaged(path, content, random);
    }
    const lock = join(state, "agent.lock");
    const target = new TextEncoder().encode(await readlink(lock));
    await rm(lock);
    await writeDamaged(lock, target, random);
    for (const name of range(ghosts).map((n) => `ghost-${n}`)) {
      await mkdir(dirname(recordOf(state, name)), { recursive: true });
      const whole = new TextEncoder().encode(encodeRecord(bystander.recordOf(name)));
      await writeDamaged(recordOf(state, name), whole, random);
    }
    damaged += hit.length + ghosts + 1;
    await agent.start();
    await waitFor(`all run in round ${round}`, allRun, 60_000);
    setAside += agent.log().slice(logged).split("setting a state file aside").length - 1;
  }

  assert.deepEqual(await place.instances(), before, "no app was started a second time");
  const list = await running(agent);
  assert.deepEqual(list.map(({ metadata }) => metadata.name).sort(), [...names].sort());
  assert.deepEqual(list.filter(({ status }) => status?.restarts !== 0), []);
  assert.equal(bystander.fate(), "");
  assert.equal(setAside, rounds * (ghosts + apps.record) + 5 * apps.both);
  const kept = await readdir(dirname(recordOf(state, "record-0")));
  assert.equal(kept.filter((file) => file.startsWith("record.json.bad-")).length, rounds);
  t.diagnostic(`${damaged} files were damaged, ${setAside} of them records that were set aside`);

  await place.want([]);
  await waitFor("all apps have been stopped", async () => (await listApps(agent)).length === 0);
  // No manifest asks for a ghost.
  assert.deepEqual(await readdir(join(state, "apps")), []);
  assert.deepEqual(await readdir(join(agent.folder, "log")), []);
});

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
    const items = names.map((name) => ({
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name },
      spec: { shellFile },
    }));
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
