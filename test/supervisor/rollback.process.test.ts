/** Versions that fail and come back, on a real supervisor with real scripts, whose agent is killed at every step. */
import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { NCAppSpec } from "../../src/api/types.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import type { RunnerDeps } from "../../src/supervisor/runner/runner.ts";
import { statusOf } from "../../src/supervisor/status.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { createTestNode, type TestNode } from "./test-node.ts";

const confinement = () => createMarkerConfinement("this test uses markers");
const update = { minReadySeconds: 1, progressDeadlineSeconds: 60, onFailure: "Rollback" } as const;
const goodScript = '#!/bin/sh\necho "good $1"\nwhile :; do sleep 1; done\n';
const badScript = "#!/bin/sh\necho broken\nexit 3\n";
const isGood = ({ good, trial, refused }: AppRecord) => Boolean(good) && !trial && !refused;
const isBack = ({ refused, trial }: AppRecord) => Boolean(refused) && !trial;

async function startGood(node: TestNode, spec: NCAppSpec = {}) {
  const shellFile = await node.script("app.sh", goodScript);
  const all = { shellFile, args: ["one"], update, ...spec };
  await node.assign("web", all);
  const record = await node.reach("web", "Running", isGood);
  return { all, record, shellFile };
}

test("an edit that crashes goes back to the last good version, with the reason and the last lines of its log", async () => {
  await using node = await createTestNode(confinement());
  const { all } = await startGood(node);
  const bad = { ...all, shellFile: await node.script("bad.sh", badScript) };
  await node.assign("web", bad);
  const record = await node.reach("web", "Running", isBack);
  const { conditions, goodRevision, revisions } = statusOf({ record });
  const condition = conditions?.find(({ type }) => type === "RolledBack");
  assert.deepEqual([condition?.status, condition?.reason], ["True", "Error"]);
  assert.match(condition?.message ?? "", /failed: Ended with status 3: Error; back to version .*\nbroken$/s);
  assert.deepEqual(revisions?.map(({ state }) => state), ["Good", "Refused"]);
  assert.equal(revisions?.[0]?.revision, goodRevision);
  await node.restartAgent();
  await node.assign("web", bad);
  assert.equal(
    (await node.reach("web", "Running", isBack)).run?.id,
    record.run?.id,
    "nothing is tried again",
  );
  await node.assign("web", { ...all, args: ["two"] });
  await node.reach("web", "Running", isGood);
  assert.match(await node.logHas("web", "good two"), /good one\nbroken\ngood one\ngood two\n/);
});

test("a script that was replaced by a bad one runs again with the content of the good one", async () => {
  await using node = await createTestNode(confinement());
  const { shellFile } = await startGood(node);
  await writeFile(shellFile, badScript);
  await node.supervisor.order("default/web", "restart");
  const record = await node.reach("web", "Running", isBack);
  assert.notEqual(record.refused?.script, record.good?.script);
  await node.logHas("web", "broken\ngood one\n");
  const kept = join(node.layout.stateDir, "versions", "default_web");
  assert.deepEqual((await readdir(kept)).sort(), [record.good!.script!, record.refused!.script!].sort());
  for (const path of [kept, join(kept, record.good!.script!)]) {
    assert.equal((await stat(path)).mode & 0o077, 0, `${path} is private`);
  }
  await writeFile(shellFile, goodScript.replace("good", "better"));
  await node.supervisor.order("default/web", "restart");
  await node.reach("web", "Running", isGood);
  await node.logHas("web", "better one\n");
  await node.supervisor.order("default/web", "undo");
  await node.logHas("web", "better one\ngood one\n");
  node.supervisor.withdraw("default/web");
  await node.gone("web");
  assert.deepEqual(await readdir(join(node.layout.stateDir, "versions")), []);
});

test("a version that is not ready in time goes back, and says what its log ended with", async () => {
  await using node = await createTestNode(confinement());
  const { all } = await startGood(node);
  const never = { exec: { command: ["false"] }, periodSeconds: 1 };
  const slow = { ...update, progressDeadlineSeconds: 2 };
  await node.assign("web", { ...all, args: ["slow"], readinessProbe: never, update: slow });
  const record = await node.reach("web", "Running", isBack);
  assert.equal(record.refused?.reason, "ProgressDeadlineExceeded");
  assert.match(record.refused?.message ?? "", /not ready for 1 s within 2 s.*\n(.*\n)*good slow$/s);
});

/** The agent dies before or after the record is saved for the `at`-th time, and does nothing more. */
function killAt(at: number, written: boolean) {
  let saves = 0;
  const isDead = () => saves > at || saves === at && !written;
  const dead = new Error("the agent was killed");
  const decorate = (deps: RunnerDeps): RunnerDeps => ({
    ...deps,
    async save(record) {
      saves++;
      if (saves > at || saves === at && !written) throw dead;
      await deps.save(record);
      if (saves === at) throw dead;
    },
    startRun: (...args) => isDead() || saves === at ? Promise.reject(dead) : deps.startRun(...args),
    cleanUp: (...args) => isDead() || saves === at ? Promise.reject(dead) : deps.cleanUp(...args),
    terminate: (...args) => isDead() || saves === at ? Promise.reject(dead) : deps.terminate(...args),
  });
  return {
    decorate: (deps: RunnerDeps) => at === 0 ? deps : decorate(deps),
    get died() {
      return saves >= at;
    },
    disarm() {
      at = Infinity;
    },
    arm(next: number) {
      [saves, at] = [0, next];
    },
  };
}

for (const written of [false, true]) {
  test(`an agent that is killed ${written ? "after" : "before"} any save of a rollback leaves it to the next, which ends with the good version`, async () => {
    let points = 0;
    for (let at = 1; at < 40; at++) {
      const kill = killAt(Infinity, written);
      await using node = await createTestNode(confinement(), { decorate: kill.decorate });
      const { all } = await startGood(node);
      const bad = { ...all, shellFile: await node.script("bad.sh", badScript) };
      kill.arm(at);
      await node.assign("web", bad);
      // Either it dies on the way, or the rollback needs fewer saves.
      await Promise.race([
        node.reach("web", "Running", isBack),
        new Promise<void>((resolve) => {
          const timer = setInterval(() => {
            if (!kill.died) return;
            clearInterval(timer);
            resolve();
          }, 5);
          timer.unref();
        }),
      ]);
      const hasDied = kill.died;
      await node.restartAgent(async () => kill.disarm());
      await node.assign("web", bad);
      const record = await node.reach("web", "Running", isBack);
      assert.equal(record.app.spec.shellFile, all.shellFile);
      assert.equal(await node.livingRuns(), 1, `killed at save ${at}`);
      if (!hasDied) break;
      points = at;
    }
    assert.ok(points >= 4, `${points} saves`);
  });
}
