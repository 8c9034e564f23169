import assert from "node:assert/strict";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { annotations } from "../../src/api/names.ts";
import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import { fileNameOf } from "../../src/sources/app-files.ts";
import { createSocketSource, type SocketOptions } from "../../src/sources/socket.ts";
import { manifest } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const ncapp = (name: string, spec?: NCAppSpec, metadata?: Partial<NCApp["metadata"]>): NCApp =>
  manifest(name, { shellFile: `/opt/${name}.sh`, ...spec }, { namespace: "default", ...metadata });

/** A running source, and all that its sink received. */
function follow(folder: string, options: SocketOptions = {}) {
  const source = createSocketSource(folder, options);
  const stop = new AbortController();
  const received: string[] = [];
  let problems: string[] = [];
  const running = source.run({
    replace: (apps) => void received.push(`replace ${apps.map(({ app }) => app.metadata.name)}`),
    upsert: ({ app, origin }) =>
      void received.push(`upsert ${app.metadata.name} ${origin?.slice(folder.length)}`),
    remove: (key, uid) => void received.push(`remove ${key} ${uid === "" ? "without uid" : "by uid"}`),
    reportProblems: (list) => void (problems = list.map(({ message }) => message)),
  }, stop.signal);
  return {
    source,
    received,
    problems: () => problems,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test("an app that is put reaches the sink, is stored in a private file, and is read again by the next source", async () => {
  using at = tempFolder();
  {
    await using life = follow(at.path);
    assert.equal((await life.source.put(ncapp("web"))).change, "created");
    const edited = ncapp("web", { cpuPCT: 20 });
    assert.equal((await life.source.put(edited, { dryRun: true })).change, "configured");
    assert.equal((await life.source.put(edited)).change, "configured");
    assert.equal((await life.source.put(edited)).change, "unchanged");
    assert.deepEqual(life.received, [
      "replace ",
      "upsert web /default_web.json",
      "upsert web /default_web.json",
    ]);
    const { mode } = await stat(join(at.path, "default_web.json"));
    assert.equal(mode & 0o777, 0o600);
  }
  await using life = follow(at.path);
  await life.source.opened();
  assert.deepEqual(life.received, ["replace web"]);
  assert.equal(life.source.get("default/web")?.spec.cpuPCT, 20);
  assert.ok(life.source.health().ready);
});

test("an app keeps its uid and creation over changes; its generation counts changes of the spec", async () => {
  using at = tempFolder();
  await using life = follow(at.path);
  const metadata = () => life.source.get("default/web")!.metadata;
  await life.source.put(ncapp("web", {}, { uid: "mine", generation: 7, resourceVersion: "5" }));
  const { uid, creationTimestamp, generation } = metadata();
  assert.notEqual(uid, "mine");
  assert.equal(generation, 1);
  assert.equal(metadata().resourceVersion, undefined);
  await life.source.put(ncapp("web", {}, { labels: { tier: "front" } }));
  assert.equal(metadata().generation, 1);
  await life.source.put(ncapp("web", { cpuPCT: 5 }));
  assert.deepEqual([metadata().uid, metadata().creationTimestamp, metadata().generation], [
    uid,
    creationTimestamp,
    2,
  ]);
  await life.source.remove("default/web");
  await life.source.put(ncapp("web"));
  assert.notEqual(metadata().uid, uid);
});

test("applying a manifest again is no restart: the last restart stays, unless the manifest names one", async () => {
  using at = tempFolder();
  await using life = follow(at.path);
  const restartedAt = () => life.source.get("default/web")?.metadata.annotations?.[annotations.restartedAt];
  await life.source.put(ncapp("web"));
  await life.source.edit(
    "default/web",
    (app) => ({ ...app, metadata: { ...app.metadata, annotations: { [annotations.restartedAt]: "now" } } }),
  );
  await life.source.put(ncapp("web", { cpuPCT: 5 }));
  assert.equal(restartedAt(), "now");
  await life.source.put(ncapp("web", {}, { annotations: { [annotations.restartedAt]: "later" } }));
  assert.equal(restartedAt(), "later");
});

test("a removed app is gone from the disk and removed by uid; an unknown one changes nothing", async () => {
  using at = tempFolder();
  await using life = follow(at.path);
  await life.source.put(ncapp("web"));
  assert.equal(await life.source.remove("default/web"), true);
  assert.equal(await life.source.remove("default/web"), false);
  assert.equal(await life.source.edit("default/web", (app) => app), false);
  assert.deepEqual(await readdir(at.path), []);
  assert.equal(life.received.at(-1), "remove default/web by uid");
});

test("changes that come together are made one after the other", async () => {
  using at = tempFolder();
  await using life = follow(at.path);
  await life.source.put(ncapp("web", { args: [] }));
  const add = (word: string) =>
    life.source.edit(
      "default/web",
      (app) => ({ ...app, spec: { ...app.spec, args: [...app.spec.args ?? [], word] } }),
    );
  await Promise.all(["a", "b", "c", "d"].map(add));
  assert.deepEqual(life.source.get("default/web")?.spec.args, ["a", "b", "c", "d"]);
  const kept = JSON.parse(await readFile(join(at.path, "default_web.json"), "utf8"));
  assert.deepEqual(kept.spec.args, ["a", "b", "c", "d"]);
});

test("a broken file keeps the app as it was last known, leaves the others alone, and is reported until it is written", async () => {
  using at = tempFolder();
  const [good, known] = [ncapp("good", {}, { uid: "u1" }), ncapp("known", {}, { uid: "u2" })];
  const files: Record<string, string> = {
    "default_good.json": JSON.stringify(good),
    "default_known.json": '{"apiVersion": "app.exam',
    "default_lost.json": JSON.stringify(ncapp("lost", { cpuPCT: 200 }, { uid: "u3" })),
    "default_other.json": JSON.stringify(ncapp("elsewhere", {}, { uid: "u4" })),
    "default_nouid.json": JSON.stringify(ncapp("nouid")),
    ".default_good.json.12.0.tmp": "half",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(at.path, name), text);
  await using life = follow(at.path, { lastKnown: () => [{ app: known }, { app: good }] });
  await life.source.opened();
  assert.deepEqual(life.received, ["replace good,known"]);
  assert.equal(life.problems().length, 4);
  assert.match(life.problems()[0]!, /default_known\.json: .*; the app keeps its last spec$/);
  assert.match(life.problems()[1]!, /default_lost\.json: spec\.cpuPCT.*200.*; nothing runs from it$/);
  assert.match(life.problems()[2]!, /default_nouid\.json: metadata\.uid is missing/);
  assert.match(life.problems()[3]!, /default_other\.json: it describes default\/elsewhere/);
  assert.ok(!(await readdir(at.path)).some((name) => name.endsWith(".tmp")));
  assert.ok(life.source.health().ready);

  await life.source.put(ncapp("known"));
  assert.equal(life.source.get("default/known")?.metadata.uid, "u2");
  assert.equal(life.problems().length, 3);
});

test("a folder that cannot be read removes nothing and takes no change, until it can", async () => {
  using at = tempFolder();
  const folder = join(at.path, "apps");
  await writeFile(folder, "not a folder");
  await using life = follow(folder, { retryMs: 5 });
  await waitFor("the problem is reported", () => life.problems().length > 0);
  assert.deepEqual(life.received, []);
  assert.equal(life.source.health().ready, false);
  await assert.rejects(life.source.put(ncapp("web")), /cannot read .*apps/);
  await rm(folder);
  await waitFor("it is ready", () => life.source.health().ready);
  assert.deepEqual(life.problems(), []);
  assert.equal((await life.source.put(ncapp("web"))).change, "created");
});

test("a change that cannot be stored never reaches the sink", async () => {
  using at = tempFolder();
  const folder = join(at.path, "apps");
  await using life = follow(folder);
  await life.source.opened();
  await rm(folder, { recursive: true });
  await assert.rejects(life.source.put(ncapp("web")), /cannot write .*: no such file$/);
  assert.deepEqual(life.received, ["replace "]);
  assert.equal(life.source.get("default/web"), undefined);
});

test("fileNameOf() fits every name into a file system, never two into one, and takes no path", () => {
  const long = (last: string) => ncapp("a".repeat(252) + last, {}, { namespace: "n".repeat(63) });
  assert.equal(fileNameOf(ncapp("web")), "default_web.json");
  assert.ok(fileNameOf(long("a")).length <= 210);
  assert.notEqual(fileNameOf(long("a")), fileNameOf(long("b")));
  for (const name of ["../etc", "a/b", "", ".", "A"]) {
    assert.throws(() => fileNameOf(ncapp(name)), /cannot make a path/);
  }
});
