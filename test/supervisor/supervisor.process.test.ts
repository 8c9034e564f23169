import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { appsFolder, logFolder, markPath, recordPath, runFolder } from "../../src/supervisor/layout.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { readLog } from "../../src/supervisor/logs/logs.ts";
import {
  type Caps,
  type CapsState,
  type Confinement,
  createMarkerConfinement,
} from "../../src/supervisor/confinement/confinement.ts";
import { openTestLauncher } from "../harness/launcher.ts";
import { readMarks } from "../../src/supervisor/run/run.ts";
import { UnansweredError } from "../../src/supervisor/types.ts";
import { listLog } from "./logs/log-files.ts";
import { createTestNode } from "./test-node.ts";
import { waitFor } from "../wait-for.ts";

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
  const usage = { cpuSeconds: 1, throttledSeconds: 0, memoryBytes: 512, processes: 1 };
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
  await node.reach("app", "Stopped");
  assert.equal(await node.supervisor.readUsage("default/app"), undefined);
});

test("the limits of a log change while its app runs, and go back to the usual ones", async () => {
  const logs = { maxBytes: 10 * 2 ** 20, maxFiles: 5 };
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), { logs });
  const shellFile = await node.script("app.sh", "#!/bin/sh\nwhile :; do seq 5000; sleep 0.05; done\n");
  const partsBecome = (what: string, holds: (sizes: number[]) => boolean) =>
    waitFor(what, async () => {
      const parts = await listLog(logFolder(node.layout, "default_app"));
      return holds(parts.map(({ text }) => text.length));
    });
  await node.assign("app", { shellFile });
  await partsBecome("one large part", ([size = 0]) => size > 200_000);
  const annotations = { "app.example.com/log-max-size": "64Ki", "app.example.com/log-max-files": "2" };
  await node.assign("app", { shellFile }, { annotations });
  await partsBecome(
    "two small parts",
    (sizes) => sizes.length === 2 && sizes.every((size) => size <= 65_536),
  );
  await node.assign("app", { shellFile });
  await partsBecome("a large part again", (sizes) => sizes.at(-1)! > 200_000);
  assert.equal(node.record("app").restarts, 0);
});

test("the output of the run before is known after updates and under the next agent", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const shellFile = await node.script("app.sh", "#!/bin/sh\necho $1 one\necho $1 two\nexec sleep 300\n");
  const folder = logFolder(node.layout, "default_app");
  const previous = async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of readLog(folder, { previous: true })) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
  for (const word of ["first", "second"]) {
    assert.equal(await previous(), "");
    await node.assign("app", { shellFile, args: [word], terminationGracePeriodSeconds: 1 });
    await node.logHas("app", `${word} two`);
  }
  assert.equal(await previous(), "first one\nfirst two\n");
  await node.restartAgent();
  assert.equal(await previous(), "first one\nfirst two\n");
  await node.assign("app", { shellFile, args: ["third"], terminationGracePeriodSeconds: 1 });
  await node.logHas("app", "third two");
  assert.equal(await previous(), "second one\nsecond two\n");
});

test("an app that has ended and whose records are all lost is removed once no source wants it, and kept while one does", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const shellFile = await node.script("app.sh", "#!/bin/sh\necho ran\nexec sleep 300\n");
  for (const name of ["gone", "wanted", "unread"]) {
    await node.assign(name, { shellFile });
    await node.reach(name, "Running");
    await node.logHas(name, "ran");
  }
  const wanted = node.record("wanted").app;
  const pids = ["gone", "wanted", "unread"].map((name) => node.record(name).run!.main!.pid);
  await node.restartAgent(async () => {
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await node.liveRuns(0);
    await rm(join(node.layout.stateDir, "runs"), { recursive: true });
    for (const name of ["gone", "wanted"]) {
      await writeFile(recordPath(node.layout, `default_${name}`), "nonsense");
    }
    // Nobody can tell what is in a folder.
    await rm(recordPath(node.layout, "default_unread"));
    await mkdir(recordPath(node.layout, "default_unread"));
  });
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

for (
  const [what, damage] of [
    [
      "were written by a later version",
      (text: string) => text.replace("nckubelet-record 1 ", "nckubelet-record 2 "),
    ],
    ["are both damaged", () => "nonsense"],
    [
      "are lost, except for a damaged copy in the run,",
      (_: string, index: number) => index ? "nonsense" : "",
    ],
  ] as const
) {
  test(`an app whose records ${what} keeps running, is on hold, and is adopted once they can be read`, async () => {
    await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
    const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 600\n");
    await node.assign("app", { shellFile });
    const { run } = await node.reach("app", "Running");
    const files = [
      recordPath(node.layout, "default_app"),
      join(runFolder(node.layout, run!.id), "record.json"),
    ];
    const whole = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const write = (change: (text: string, index: number) => string) => async () => {
      for (const [index, file] of files.entries()) {
        const text = change(whole[index]!, index);
        if (text) await writeFile(file, text);
        else await rm(file);
      }
    };
    await node.restartAgent(write(damage));
    // The next agent finds what the first one left.
    for (let agents = 0; agents < 2; agents++) {
      await node.assign("app", { shellFile });
      const held = await node.reach("app", "Pending");
      assert.equal(held.reason, "RecordUnreadable");
      assert.match(held.message, /^cannot read \/.*record\.json.*; .*; then restart the agent$/);
      node.supervisor.withdraw("default/app");
      node.supervisor.removeLost([]);
      await node.supervisor.tick();
      assert.equal(node.isAlive(run!.main!), true);
      assert.equal(await readFile(files[1]!, "utf8"), damage(whole[1]!, 1));
      await node.restartAgent();
    }
    await node.restartAgent(write((text) => text));
    const adopted = await node.reach("app", "Running");
    assert.deepEqual([adopted.run?.id, adopted.run?.main], [run?.id, run?.main]);
  });
}

test("without cgroups, a process that has cleared its environment and left the session is counted and stopped", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const [pidFile, end] = [join(node.folder, "pid"), join(node.folder, "end")];
  const hidden = `env -i setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' >/dev/null 2>&1 &`;
  const shellFile = await node.script(
    "hide.sh",
    `#!/bin/sh\n${hidden}\nwhile [ ! -e ${end} ]; do sleep 0.1; done\n`,
  );
  await node.assign("hide", { shellFile });
  const pid = await waitFor(
    "the pid",
    async () => Number(await readFile(pidFile, "utf8").catch(() => "")) || undefined,
  );
  const { run } = await node.reach("hide", "Running");
  // The script, its hidden child, and the sleep that comes and goes.
  await waitFor(
    "all are counted",
    async () => (await node.supervisor.readUsage("default/hide"))!.processes >= 3,
  );
  await writeFile(end, "");
  const after = await node.reach("hide", "Running", ({ run }) => run?.survivor !== undefined);
  assert.deepEqual([after.run?.id, after.run?.survivor], [run?.id, pid]);
  node.supervisor.withdraw("default/hide");
  await node.gone("hide");
  assert.equal(readStat(pid), undefined);
});

test("without cgroups, what a script hides before it ends at once is counted and stopped", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const pidFile = join(node.folder, "pid");
  const hidden = `env -i setsid sh -c 'echo $$ >${pidFile}; exec sleep 600' >/dev/null 2>&1 &`;
  const shellFile = await node.script("hide.sh", `#!/bin/sh\n(${hidden})\nexit 0\n`);
  await node.assign("hide", { shellFile });
  const pid = await waitFor(
    "the pid",
    async () => Number(await readFile(pidFile, "utf8").catch(() => "")) || undefined,
  );
  const { run } = await node.reach("hide", "Running", ({ run }) => {
    // The shell that started it may have been seen first.
    void node.supervisor.tick();
    return run?.survivor === pid;
  });
  const counted = async () => (await node.supervisor.readUsage("default/hide"))?.processes === 1;
  await waitFor("it is counted", counted);
  // The next agent knows it by the launcher, too.
  await node.restartAgent();
  for (let look = 0; look < 3; look++) await node.supervisor.tick();
  const after = await node.reach("hide", "Running");
  assert.deepEqual([after.run?.id, after.restarts], [run?.id, 0]);
  node.supervisor.withdraw("default/hide");
  await node.gone("hide");
  assert.equal(readStat(pid), undefined);
});

test("exec probes and stop files enter the app by the launcher", async () => {
  const entered: string[] = [];
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), {
    launchBy: async (stateDir) => {
      const real = await openTestLauncher(stateDir);
      return {
        state: real.state,
        start: (request) => real.start(request),
        copyCommand: (request) => real.copyCommand(request),
        look: (path, options) => real.look(path, options),
        read: (path, options, onChunk) => real.read(path, options, onChunk),
        enterCommand(context, command, options) {
          const words = real.enterCommand(context, command, options);
          assert.deepEqual(words.slice(0, 2), [real.state.message, "enter"]);
          entered.push(command.at(-1)!);
          return words;
        },
        close: () => real.close(),
      };
    },
  });
  const stopFile = await node.script("stop.sh", "#!/bin/sh\n");
  await node.assign("app", {
    shellFile: await node.script("app.sh", "#!/bin/sh\nexec sleep 600\n"),
    stopFile,
    readinessProbe: { exec: { command: ["/bin/true", "probe"] }, periodSeconds: 1, timeoutSeconds: 10 },
  });
  await node.reach("app", "Running", ({ run }) => run?.ready === true);
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  assert.deepEqual([...new Set(entered)], ["probe", stopFile]);
});

test("an app whose launcher is killed goes on writing: the agent or the next one has its output copied, and finds its strays", async () => {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"));
  const go = (round: number) => join(node.folder, `go-${round}`);
  const rounds = [1, 2, 3, 4];
  // More than fits into the pipe, then a line.
  const write = (round: number) =>
    `until [ -e ${
      go(round)
    } ]; do sleep 0.02; done; head -c 100000 /dev/zero; echo round $1 ${round} >/dev/stderr`;
  const body = `echo "$1 $$"; ${rounds.map(write).join("\n")}; exec sleep 600`;
  await node.script("body.sh", body);
  const start = `sh ${node.folder}/body.sh`;
  const shellFile = await node.script(
    "app.sh",
    `#!/bin/sh\n(env -i setsid ${start} stray &)\nexec ${start} main\n`,
  );
  const stopFile = await node.script(
    "stop.sh",
    `#!/bin/sh\necho stopping >/dev/stderr\nuntil [ -e ${go(5)} ]; do sleep 0.02; done\n`,
  );
  await node.assign("app", { shellFile, stopFile });
  await node.reach("app", "Running");
  const log = await waitFor("both write", async () => {
    const log = await node.log("app");
    return /^main/m.test(log) && /^stray/m.test(log) && log;
  });
  const stray = Number(/^stray (\d+)$/m.exec(log)![1]);
  const mark = markPath(node.layout, node.record("app").run!.id);
  const alive = (target: { pid: number } | undefined) => target && readStat(target.pid) !== undefined;
  const end = async (target: { pid: number }) => {
    process.kill(target.pid, "SIGKILL");
    await waitFor("its end", () => !alive(target));
  };
  const passes = async (round: number) => {
    await writeFile(go(round), "");
    await waitFor(`round ${round}`, async () => {
      void node.supervisor.tick();
      const log = await node.log("app");
      return ["main", "stray"].every((who) => log.includes(`round ${who} ${round}\n`));
    });
    const { copier } = readMarks(mark);
    assert.equal(alive(copier), true, `round ${round}`);
    await waitFor("no other copier", async () => {
      const copiers = (await node.commandLines()).filter((line) => line.split("\0")[1] === "copy");
      return copiers.length === 1;
    });
    return copier!;
  };
  await end(readMarks(mark).launcher!);
  const first = await passes(1);
  await end(first);
  const second = await passes(2);
  // The next agent uses the copier that it finds, and replaces one that was killed while there was none.
  await node.restartAgent();
  assert.deepEqual(await passes(3), second);
  await node.restartAgent(() => end(second));
  await passes(4);
  assert.equal((await waitFor("it is known", () => node.supervisor.get("default/app"))).record.restarts, 0);
  node.supervisor.withdraw("default/app");
  const all = await waitFor("its last line", async () => {
    const log = await node.log("app");
    return log.endsWith("stopping\n") && log;
  });
  assert.equal(all.replaceAll(/[^\0]/g, "").length, 2 * rounds.length * 100_000, "nothing was lost");
  await writeFile(go(5), "");
  await node.gone("app");
  assert.deepEqual([readStat(stray), await node.commandLines()], [undefined, []]);
});

test("an app with a Secret restarts while the API server does not answer, also under a new agent", async () => {
  let isDown = false;
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), {
    resolveValue: async () => {
      if (isDown) throw new UnansweredError("ValueUnavailable", "no answer");
      return "sesame";
    },
  });
  const shellFile = await node.script("app.sh", '#!/bin/sh\necho "got $PASSWORD"\nexec sleep 60\n');
  const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }];
  await node.assign("app", { shellFile, env, backoffSeconds: 1 });
  const { run } = await node.reach("app", "Running");
  // It is Running before its script has written its line.
  await node.logHas("app", "got sesame\n");
  isDown = true;
  await node.restartAgent(async () => void process.kill(run!.main!.pid, "SIGKILL"));
  await node.reach("app", "Running", ({ restarts }) => restarts === 1);
  await node.logHas("app", "got sesame\ngot sesame\n");
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  assert.deepEqual(readdirSync(node.layout.privateDir), []);
});
