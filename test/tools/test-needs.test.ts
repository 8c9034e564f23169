import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { controlPlanePart, findVersion } from "../../tools/test/choose-control-plane.ts";
import { installPart, whyNotInstall } from "../../tools/test/install-part.ts";
import { startQueue } from "../../tools/test/need-queue.ts";
import { needsOf, orderNeeds } from "../../tools/test/needs.ts";
import { planOf, suiteNames } from "../../tools/test/suites.ts";
import { tempFolder } from "../temp-folder.ts";

test("orderNeeds() puts a control plane last, which can take minutes to build, and the program after the compilers", () => {
  const { first, later } = orderNeeds(planOf(["cluster", "systemd"]));
  assert.deepEqual(first, ["systemd-guest", "compilers", "program", "control-plane"]);
  assert.deepEqual(later, [], "nothing waits for caps if it does not run");
  for (const name of suiteNames) {
    const needs = needsOf(name);
    assert.ok(!needs.includes("program") || needs.includes("compilers"), name);
  }
});

test("needsOf() replaces the control plane by that of the requested version", () => {
  assert.deepEqual(
    ["1.20", "1.20.2", "oldest", "1.36", undefined].map(controlPlanePart),
    [...Array(3).fill("control-plane-oldest"), "control-plane", "control-plane"],
  );
  assert.ok(needsOf("cluster", "control-plane-oldest").includes("control-plane-oldest"));
  assert.ok(!needsOf("cluster", "control-plane-oldest").includes("control-plane"));
});

test("findVersion() finds a control plane by its version, and the oldest only if it is not the default", () => {
  const folders = ["/cache/control-plane-1.36.4", "/cache/control-plane-1.20.2-4"];
  assert.equal(findVersion("1.20", folders, {}), folders[1]);
  assert.equal(findVersion("1.36", folders, {}), folders[0]);
  assert.equal(findVersion("oldest", folders, {}), folders[1]);
  assert.equal(findVersion("oldest", folders.slice(1), {}), undefined);
  assert.equal(findVersion("oldest", folders.slice(1), { KUBEBUILDER_ASSETS: "/newer" }), folders[1]);
  assert.equal(findVersion("1.20", folders.slice(1), {}), folders[1], "who names a version gets it");
  assert.throws(() => findVersion("1.30", folders, {}), /no control plane 1\.30: .*1\.36\.4.*1\.20\.2-4/);
  assert.throws(() => findVersion("oldest", folders.slice(0, 1), {}), /no control plane oldest: .*1\.36\.4/);
});

test("a queue makes one need after the other, and nothing while a measurement runs", async () => {
  const events: string[] = [];
  const ends = new Map(["a", "b", "c"].map((need) => [need, Promise.withResolvers<void>()]));
  const queue = startQueue({ first: ["a", "b"], later: ["c"] }, async (need) => {
    events.push(need);
    await ends.get(need)!.promise;
  });
  const settle = async () => (await new Promise((resolve) => setImmediate(resolve)), events.splice(0));
  queue.made(["a"]).then(() => events.push("a is there"));
  queue.made(["c"]).then(() => events.push("c is there"));
  const measuring = Promise.withResolvers<void>();
  const measured = queue.undisturbed(async () => {
    events.push("measuring");
    await measuring.promise;
    return 42;
  });
  assert.deepEqual(await settle(), ["a"]);
  ends.get("a")!.resolve();
  assert.deepEqual(
    (await settle()).sort(),
    ["a is there", "b"],
    "a suite does not wait for the needs of others",
  );
  ends.get("b")!.resolve();
  assert.deepEqual(await settle(), ["measuring"]);
  measuring.resolve();
  assert.deepEqual(await settle(), ["c"]);
  assert.equal(await measured, 42);
  ends.get("c")!.resolve();
  assert.deepEqual(await settle(), ["c is there"]);
});

test("a queue goes on after a failure, of a need or of a measurement; who needs what failed gets the error", async () => {
  const queue = startQueue({ first: ["a", "b"], later: ["c"] }, async (need) => {
    if (need === "a") throw new Error("no compiler");
  });
  await assert.rejects(queue.made(["b", "a"]), /no compiler/);
  await queue.made(["b"]);
  await assert.rejects(queue.undisturbed(() => Promise.reject(new Error("caps broke"))), /caps broke/);
  await queue.made(["c"]);
});

test("whyNotInstall() allows root with apt-get to install, and nobody else", () => {
  using temp = tempFolder();
  const env = { PATH: `/nowhere:${temp.path}` };
  assert.equal(whyNotInstall(env, 0), "there is no apt-get here");
  writeFileSync(join(temp.path, "apt-get"), "", { mode: 0o755 });
  assert.equal(whyNotInstall(env, 0), undefined);
  assert.equal(whyNotInstall(env, 1000), "that takes root");
});

test("installPart() passes on messages, and returns the errors of an installer that failed", async () => {
  using temp = tempFolder();
  const script = join(temp.path, "install.sh");
  const install = async (text: string) => {
    writeFileSync(script, text);
    const messages: string[] = [];
    const hear = (message: string) => void messages.push(message);
    return {
      errors: await installPart("tmux", { hear, signal: new AbortController().signal, script }),
      messages,
    };
  };
  assert.deepEqual(await install('echo "install-parts: $1: fetching"; echo noise >&2'), {
    errors: undefined,
    messages: ["tmux: fetching"],
  });
  assert.deepEqual(await install("echo log >&2; echo install-parts: no mirror >&2; exit 1"), {
    errors: ["log", "install-parts: no mirror"],
    messages: [],
  });
  assert.deepEqual((await install("kill -9 $$")).errors, ["install-parts.sh ended with SIGKILL"]);
});

test("installPart() ends an installer with all its processes when the run is interrupted", async () => {
  using temp = tempFolder();
  const script = join(temp.path, "install.sh");
  writeFileSync(script, "sleep 1000 & trap 'echo cleaned' EXIT; echo started; wait");
  const stopping = new AbortController();
  const messages: string[] = [];
  // It returns when the last process that holds its output has ended.
  const errors = await installPart("tmux", {
    script,
    signal: stopping.signal,
    hear(message) {
      messages.push(message);
      stopping.abort();
    },
  });
  assert.deepEqual(messages, ["started", "cleaned"]);
  assert.match(String(errors), /ended with/);
  assert.deepEqual(await installPart("tmux", { script, signal: stopping.signal, hear() {} }), [
    "interrupted",
  ]);
});
