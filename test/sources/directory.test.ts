import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Desired } from "../../src/api/app-shapes.ts";
import type { NCApp } from "../../src/api/types.ts";
import { FileTimeoutError, inQueue } from "../../src/lib/deadlines/deadlines.ts";
import { createDirectorySource, isManifestName } from "../../src/sources/directory.ts";
import type { LastKnown, SourceProblem } from "../../src/sources/source.ts";
import { manifest as appManifest, ncapp } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { stayAlive } from "../stay-alive.ts";

function manifest(name: string, fields = ""): string {
  return `apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: ${name}}\nspec: {shellFile: /opt/${name}.sh${fields}}\n`;
}

async function follow(
  prepare: (directory: string) => Promise<LastKnown[]> = async () => [],
  rereadMs = 20_000,
) {
  const temp = tempFolder();
  const directory = temp.path;
  const known = await prepare(directory);
  const source = createDirectorySource(directory, { rereadMs, settleMs: 1, lastKnown: () => known });
  const stop = new AbortController();
  let apps: Desired<NCApp>[] | undefined;
  let problems: SourceProblem[] = [];
  let received = 0;
  const running = source.run({
    replace: (list) => {
      apps = list;
      received++;
    },
    upsert: () => assert.fail("a folder is always read whole"),
    remove: () => assert.fail("a folder is always read whole"),
    reportProblems: (list) => void (problems = list),
  }, stop.signal);
  return {
    directory,
    source,
    names: () => apps?.map(({ app }) => app.metadata.name).sort(),
    apps: () => apps ?? [],
    problems: () => problems,
    received: () => received,
    async see(...names: string[]) {
      await waitFor(
        `apps ${names}, there are ${apps?.map(({ app }) => app.metadata.name)}`,
        () => apps?.map(({ app }) => app.metadata.name).sort().join() === names.join(),
      );
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      temp.remove();
    },
  };
}

test("files that come, change and go are followed", async () => {
  await using seen = await follow();
  await seen.see();
  await writeFile(join(seen.directory, "a.yaml"), manifest("one") + "---\n" + manifest("two"));
  await seen.see("one", "two");
  await writeFile(join(seen.directory, "b.json"), JSON.stringify(appManifest("three")));
  await seen.see("one", "three", "two");
  await rm(join(seen.directory, "a.yaml"));
  await seen.see("three");
});

test("a broken file keeps its last good version and is reported with its name, until it is good or gone", async () => {
  await using seen = await follow();
  const file = join(seen.directory, "a.yaml");
  await writeFile(file, manifest("one"));
  await seen.see("one");
  for (const broken of ["{ not: [yaml", "", "# nothing but a comment\n---\n"]) {
    await writeFile(file, broken);
    await waitFor("the problem is reported", () => seen.problems().length > 0);
    assert.deepEqual(seen.names(), ["one"]);
    assert.match(seen.problems()[0]?.message ?? "", /a\.yaml/);
  }
  await writeFile(file, manifest("other"));
  await seen.see("other");
  await waitFor("the problem is over", () => seen.problems().length === 0);
});

test("a broken app beside good ones keeps its own last good version; the good ones change", async () => {
  await using seen = await follow();
  const file = join(seen.directory, "a.yaml");
  await writeFile(file, manifest("one") + "---\n" + manifest("two"));
  await seen.see("one", "two");
  await writeFile(file, manifest("one", ", cpuPCT: 200") + "---\n" + manifest("three"));
  await seen.see("one", "three");
  assert.equal(seen.apps().find(({ app }) => app.metadata.name === "one")?.app.spec.cpuPCT, undefined);
  assert.match(seen.problems()[0]?.message ?? "", /spec\.cpuPCT.*200/);
});

const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

test("an app that is taken out of a file stops, whatever objects of other kinds are beside it", async () => {
  await using seen = await follow();
  const file = join(seen.directory, "a.yaml");
  await writeFile(file, [namespace, manifest("one"), manifest("two")].join("---\n"));
  await seen.see("one", "two");
  await writeFile(file, [namespace, manifest("one")].join("---\n"));
  await seen.see("one");
  assert.deepEqual(seen.problems(), []);
  assert.equal(seen.source.health().message, "1 file read, 1 object of other kinds ignored");
  await writeFile(file, namespace);
  await seen.see();
});

test("an app that is taken out while a file was not followed stops too, beside an object of another kind", async () => {
  await using seen = await follow(async (directory) => {
    const file = join(directory, "a.yaml");
    await writeFile(file, [namespace, manifest("one")].join("---\n"));
    return ["one", "two"].map((name) => ({ app: ncapp({ metadata: { name } }), origin: file }));
  });
  await seen.see("one");
});

test("an object that may have been an app keeps every app of its file", async () => {
  await using seen = await follow();
  const file = join(seen.directory, "a.yaml");
  const doubtful = [
    manifest("two").replace("v1alpha1", "v1alpha2"),
    manifest("two").replace("NCApp", "NCJob"),
    manifest("two").replace("app.example.com/v1alpha1", "apps/v1"),
    manifest("two").replace(/^apiVersion.*\n/, ""),
    manifest("two").replace(/^kind.*\n/m, ""),
    "apiVersion: v1\nkind: List\nitems: null\n",
    "apiVersion: v1\nkind: Status\nmetadata: {}\nstatus: Failure\n",
  ];
  for (const [at, doubt] of doubtful.entries()) {
    await writeFile(file, [namespace, manifest("one"), manifest("two")].join("---\n"));
    await waitFor("it is well", () => seen.problems().length === 0 && seen.names()?.join() === "one,two");
    await writeFile(file, [namespace, manifest("one"), doubt, manifest(`new${at}`)].join("---\n"));
    await seen.see(`new${at}`, "one", "two");
    assert.equal(seen.problems().length, 1, doubt);
  }
});

test("a file that becomes a copy with hidden secrets keeps its last good version", async () => {
  await using seen = await follow();
  const file = join(seen.directory, "a.yaml");
  const withKey = (value: string) => manifest("one", `, env: [{name: KEY, value: ${value}}]`);
  await writeFile(file, withKey("secret"));
  await seen.see("one");
  await writeFile(file, withKey("(set on the node)") + "---\n" + manifest("two"));
  await seen.see("one", "two");
  assert.match(seen.problems()[0]?.message ?? "", /default\/one: spec\.env\[0\]\.value: .*"KEY"/);
  assert.equal(
    seen.apps().find(({ app }) => app.metadata.name === "one")?.app.spec.env?.[0]?.value,
    "secret",
  );
});

test("a folder that cannot be listed any more removes nothing, and is well again when it is back as it was", async () => {
  await using seen = await follow(undefined, 20);
  await writeFile(join(seen.directory, "a.yaml"), manifest("one"));
  await seen.see("one");
  await rename(seen.directory, `${seen.directory}-moved`);
  await waitFor("it is not ready", () => !seen.source.health().ready, 60_000);
  assert.match(seen.source.health().message, /: no such folder: create it, or correct --manifests$/);
  assert.deepEqual(seen.names(), ["one"]);
  assert.equal(seen.problems().length, 1);
  await rename(`${seen.directory}-moved`, seen.directory);
  await waitFor("it is ready again", () => seen.source.health().ready);
  assert.deepEqual(seen.problems(), []);
});

test("an unchanged folder that is read again is reported once", async () => {
  await using seen = await follow(undefined, 1);
  await writeFile(join(seen.directory, "a.yaml"), manifest("one"));
  await seen.see("one");
  const received = seen.received();
  await writeFile(join(seen.directory, ".b.yaml"), manifest("two"));
  await rename(join(seen.directory, ".b.yaml"), join(seen.directory, "b.yaml"));
  await seen.see("one", "two");
  assert.equal(seen.received(), received + 1);
});

test("a file that is broken when the agent starts keeps what an earlier agent knew of it; a file that is gone keeps nothing", async () => {
  await using seen = await follow(async (directory) => {
    const file = join(directory, "a.yaml");
    await writeFile(file, "{ not: [yaml");
    const app = (name: string) => ncapp({ metadata: { name } });
    return [{ app: app("kept"), origin: file }, { app: app("gone"), origin: join(directory, "gone.yaml") }];
  });
  await seen.see("kept");
});

test("a file that says the same is not parsed again, one that changes is, and one that comes back is good again", async () => {
  await using seen = await follow();
  const [a, b] = ["a.yaml", "b.yaml"].map((file) => join(seen.directory, file)) as [string, string];
  await writeFile(a, manifest("one"));
  await seen.see("one");
  const spec = seen.apps()[0]!.app.spec;
  await writeFile(b, manifest("two"));
  await seen.see("one", "two");
  assert.equal(seen.apps()[0]!.app.spec, spec, "the same object, since nothing was parsed");
  await writeFile(a, manifest("one", ", cpuPCT: 5"));
  await waitFor("the change is read", () => seen.apps()[0]!.app.spec?.cpuPCT !== undefined);
  await writeFile(a, "{");
  await waitFor("the file is broken", () => seen.problems().length === 1);
  await seen.see("one", "two");
  await writeFile(a, manifest("three"));
  await seen.see("three", "two");
  assert.deepEqual(seen.problems(), []);
});

test("a FIFO and a folder among the manifests are reported by name; the other files are read", async () => {
  await using seen = await follow(async (directory) => {
    execFileSync("mkfifo", [join(directory, "a.yaml")]);
    await mkdir(join(directory, "b.yaml"));
    await writeFile(join(directory, "c.yaml"), manifest("one"));
    return [];
  }, 1);
  await seen.see("one");
  await waitFor("the problems", () => seen.problems().length === 2);
  assert.deepEqual(
    seen.problems().map(({ message }) => message),
    ["a.yaml", "b.yaml"].map((name) => `${join(seen.directory, name)}: not a regular file`),
  );
  assert.match(seen.source.health().message, /^2 problems in /);
  assert.equal(seen.received(), 1, "what stays as it is is reported once");
});

test("a source whose last complete read is old is not ready, and says what hangs", async () => {
  using _alive = stayAlive();
  const temp = tempFolder();
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  let now = 0;
  const source = createDirectorySource(temp.path, { rereadMs: 10_000, now: () => now });
  const stop = new AbortController();
  const sink = { replace() {}, upsert() {}, remove() {}, reportProblems() {} };
  const running = source.run(sink, stop.signal);
  await waitFor("the source is ready", () => source.health().ready);
  now = 35_001;
  assert.equal(source.health().ready, false);
  assert.match(source.health().message, /was last read 35 s ago$/);
  stop.abort();
  await running;

  await assert.rejects(inQueue(temp.path, () => answer, { timeoutMs: 1 }), FileTimeoutError);
  const again = createDirectorySource(temp.path);
  const end = new AbortController();
  const following = again.run(sink, end.signal);
  await waitFor("the timeout", () => /no answer from its file system/.test(again.health().message));
  resolve();
  await waitFor("the source is ready again", () => again.health().ready);
  end.abort();
  await following;
  temp.remove();
});

test("an app from a file has the same uid after every reading, and another one from another file", async () => {
  await using seen = await follow();
  await writeFile(join(seen.directory, "a.yaml"), manifest("one"));
  await seen.see("one");
  const before = seen.apps()[0]?.app.metadata.uid;
  await writeFile(join(seen.directory, "a.yaml"), manifest("one", ", cpuPCT: 5"));
  await waitFor("the change is read", () => seen.apps()[0]?.app.spec.cpuPCT === 5);
  assert.equal(seen.apps()[0]?.app.metadata.uid, before);
  await rename(join(seen.directory, "a.yaml"), join(seen.directory, "b.yaml"));
  await waitFor("the other file is read", () => seen.apps()[0]?.origin?.endsWith("b.yaml") === true);
  assert.notEqual(seen.apps()[0]?.app.metadata.uid, before);
});

test("hidden files, editors' copies and other endings are no manifests", () => {
  const names = [
    "a.yaml",
    "b.yml",
    "c.json",
    ".a.yaml.swp",
    ".hidden.yaml",
    "a.yaml~",
    "#a.yaml#",
    "README.md",
    "4913",
  ];
  assert.deepEqual(names.filter(isManifestName), ["a.yaml", "b.yml", "c.json"]);
});

test("an app that an edit breaks is kept and says what is wrong, unless the file cannot be read", async () => {
  await using seen = await follow();
  const path = join(seen.directory, "web.yaml");
  await writeFile(path, manifest("web"));
  await seen.see("web");
  for (
    const [text, wrong] of [
      [manifest("web", ", cpuPCT: 200"), /web\.yaml:\d+: default\/web: spec\.cpuPCT: Invalid value: 200/],
      ["a: [", /web\.yaml:\d+: not YAML/],
      ["", /contains no manifest/],
    ] as const
  ) {
    await writeFile(path, text);
    await waitFor(`the problem of ${text}`, () => wrong.test(seen.apps()[0]?.invalid ?? ""));
  }
  await rm(path);
  await mkdir(path);
  await waitFor("the folder in its place", () => seen.problems()[0]?.message.includes("not a regular file"));
  assert.equal(seen.apps()[0]?.invalid, undefined);
});
