import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Caps, CapsState, Confinement } from "../../src/supervisor/confinement/types.ts";
import { appsFolder, logFolder, logPath, recordPath } from "../../src/supervisor/layout.ts";
import { statePath } from "../../src/supervisor/logs/log-parts.ts";
import { rotateIfNeeded } from "../../src/supervisor/logs/rotation.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { supervisorContract } from "./contract.ts";
import { createTestNode } from "./test-node.ts";
import { waitFor } from "../wait-for.ts";

supervisorContract(async () => createMarkerConfinement("this test uses markers"));

test("under strict enforcement an app with a cap that cannot be held is not started, and says why; one without a cap is", async () => {
  const why = "cgroup v1 holds controllers cpu, memory";
  await using node = await createTestNode(createMarkerConfinement(why), { enforce: "strict" });
  const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 60\n");
  await node.assign("capped", { shellFile, cpuPCT: 20 });
  await node.assign("free", { shellFile });
  const { reason, message } = await node.reach("capped", "Pending", ({ reason }) => reason !== "");
  assert.deepEqual([reason, message], [
    "LimitsUnavailable",
    `cpuPCT 20 cannot be enforced: ${why}; run the agent with --enforce best-effort to start it without`,
  ]);
  await node.reach("free", "Running");
  await node.liveRuns(1);
});

test("under strict enforcement a cap is judged by itself: one that is held starts its app, whatever else the node lacks", async () => {
  const why = "controller memory is switched off";
  const markers = createMarkerConfinement(why);
  const judge = async (caps: Caps): Promise<CapsState> =>
    caps.memPCT === undefined
      ? { enforced: true }
      : { enforced: false, reason: "LimitsUnavailable", message: `cannot set memory.max 4096: ${why}` };
  const confinement: Confinement = {
    ...markers,
    prepare: async (_, caps) => ({ keeper: "", leaf: "", caps: await judge(caps) }),
    ensureCaps: (_, caps) => judge(caps),
  };
  await using node = await createTestNode(confinement, { enforce: "strict" });
  const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 60\n");
  await node.assign("cpu", { shellFile, cpuPCT: 20 });
  await node.assign("memory", { shellFile, memPCT: 10 });
  await node.reach("cpu", "Running");
  const { reason, message } = await node.reach("memory", "Pending", ({ reason }) => reason !== "");
  assert.equal(reason, "LimitsUnavailable");
  assert.match(
    message ?? "",
    /^memPCT 10 cannot be enforced: cannot set memory\.max 4096: controller memory/,
  );
  await node.liveRuns(1);
});

test("an agent that stops its apps on exit waits for a start that is being decided, and nothing of it runs", async () => {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), {
    decorate: (deps) => ({
      ...deps,
      async save(record) {
        if (record.phase === "Starting") {
          reached.resolve();
          await opened.promise;
        }
        await deps.save(record);
      },
    }),
  });
  const begun = join(node.folder, "begun");
  const shellFile = await node.script("app.sh", `#!/bin/sh\necho >>${begun}\nexec sleep 60\n`);
  await node.assign("app", { shellFile });
  await reached.promise;
  let stopped = false;
  const stopping = node.supervisor.stopAll(60_000).then(() => stopped = true);
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  assert.equal(stopped, false);
  await node.assign("late", { shellFile });
  opened.resolve();
  await stopping;
  await node.supervisor.close();
  assert.deepEqual(["app", "late"].map((name) => node.record(name).run), [undefined, undefined]);
  assert.equal(existsSync(begun), false);
});

test("an agent that ends leaves a stop file running, and the next one goes on with the stop", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const [said, go] = [join(node.folder, "said"), join(node.folder, "go")];
  const saying = async () => (await readFile(said, "utf8").catch(() => "")).trim().split("\n");
  const stopFile = await node.script(
    "stop.sh",
    `#!/bin/sh\necho begun >>${said}\nwhile [ ! -e ${go} ]; do sleep 0.05; done\necho ended >>${said}\n`,
  );
  const shellFile = await node.script("app.sh", "#!/bin/sh\nwhile :; do sleep 1; done\n");
  await node.assign("app", { shellFile, stopFile, terminationGracePeriodSeconds: 30 });
  const { run } = await node.reach("app", "Running");
  node.supervisor.withdraw("default/app");
  await waitFor("the stop file runs", async () => (await saying()).includes("begun"));
  await node.restartAgent(async () => {
    assert.equal(node.isAlive(run!.main!), true);
    await writeFile(go, "");
    await waitFor("the stop file ends by itself", async () => (await saying()).includes("ended"));
  });
  await node.gone("app");
  await node.liveRuns(0);
});

test("an app is measured until it has stopped", async () => {
  const markers = createMarkerConfinement("this test uses markers");
  const usage = { cpuSeconds: 1, throttledSeconds: 0, memoryBytes: 512, processes: 1, oomKills: 3 };
  await using node = await createTestNode({ ...markers, usage: async () => usage });
  const shellFile = await node.script(
    "app.sh",
    "#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 1; done\n",
  );
  await node.assign("app", { shellFile });
  await node.logHas("app", "up");
  await node.reach("app", "Running");
  assert.deepEqual(await node.supervisor.readUsage("default/app"), usage);
  await node.assign("app", { shellFile, suspend: true, terminationGracePeriodSeconds: 2 });
  await node.reach("app", "Stopping");
  assert.deepEqual(await node.supervisor.readUsage("default/app"), usage);
  await node.reach("app", "Pending", ({ run }) => run === undefined);
  assert.equal(await node.supervisor.readUsage("default/app"), undefined);
});

test("nothing is remembered of the log of an app that was forgotten", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  await node.assign("app", { shellFile: await node.script("app.sh", "echo ran\n"), restartPolicy: "Never" });
  await node.reach("app", "Succeeded");
  for (let round = 0; round < 2; round++) await node.supervisor.rotateLogs();
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  await mkdir(logFolder(node.layout, "default_app"));
  const path = logPath(node.layout, "default_app");
  await writeFile(path, "another\n");
  await rotateIfNeeded(path, { maxBytes: 2 ** 20, maxFiles: 5 });
  assert.equal(existsSync(statePath(path)), true);
});

test("an app whose records are all lost is removed once no source wants it, and kept while one does", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const shellFile = await node.script("app.sh", "#!/bin/sh\necho ran\nexec sleep 300\n");
  for (const name of ["gone", "wanted", "unread"]) {
    await node.assign(name, { shellFile });
    await node.reach(name, "Running");
    await node.logHas(name, "ran");
  }
  const wanted = node.record("wanted").app;
  await node.restartAgent(async () => {
    await rm(join(node.layout.stateDir, "runs"), { recursive: true });
    for (const name of ["gone", "wanted"]) {
      await writeFile(recordPath(node.layout, `default_${name}`), "nonsense");
    }
    // Nobody can tell what is in a folder.
    await rm(recordPath(node.layout, "default_unread"));
    await mkdir(recordPath(node.layout, "default_unread"));
  });
  await node.liveRuns(0);
  const folders = () => [...readdirSync(appsFolder(node.layout)), ...readdirSync(node.layout.logDir)].sort();
  assert.deepEqual(
    folders(),
    ["gone", "gone", "unread", "unread", "wanted", "wanted"].map((name) => `default_${name}`),
  );
  node.supervisor.removeLost([wanted]);
  const kept = ["unread", "unread", "wanted", "wanted"].map((name) => `default_${name}`);
  assert.deepEqual(folders(), kept);
  await node.assign("wanted", { shellFile });
  await node.reach("wanted", "Running");
  node.supervisor.removeLost([]);
  assert.deepEqual(folders(), kept);
  assert.equal(await node.logHas("wanted", "ran\nran"), "ran\nran\n");
});
