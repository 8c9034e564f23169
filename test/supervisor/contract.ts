/**
 * What the supervisor promises, whatever holds the processes: run against markers on any machine, and against cgroups in the guest.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { NCAppSpec } from "../../src/api/types.ts";
import type { Confinement } from "../../src/supervisor/confinement/confinement.ts";
import { execInRun, readRunContext } from "../../src/supervisor/run/run.ts";
import { recordPath, runFolder } from "../../src/supervisor/layout.ts";
import { encodeRecord } from "../../src/supervisor/records/records.ts";
import { statusOf } from "../../src/supervisor/status.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { waitFor } from "../wait-for.ts";
import { createTestNode, type TestNode } from "./test-node.ts";

const forever = "#!/bin/sh\necho up\nwhile :; do sleep 1; done\n";

/** Registers the tests of the contract. */
export function supervisorContract(makeConfinement: () => Promise<Confinement>): void {
  const isRoot = process.getuid?.() === 0;
  const createNode = async () => await createTestNode(await makeConfinement());

  test("a script runs with its arguments, a clean environment, umask 022 and no descriptor of the agent", async () => {
    await using node = await createNode();
    const shellFile = await node.script(
      "show.sh",
      '#!/bin/sh\nprintf "arg:%s\\n" "$@"; env; echo "umask:$(umask)"; echo "fds:$(echo /proc/self/fd/*)"; pwd; echo done; sleep 60\n',
    );
    await node.assign("show", {
      shellFile,
      args: ["one", "two words", ""],
      env: [{ name: "TEXT", value: "it's $HOME\nnext" }],
    });
    const log = await node.logHas("show", "done\n");
    assert.match(log, /^arg:one\narg:two words\narg:\n/);
    assert.match(log, /^TEXT=it's \$HOME\nnext$/m);
    assert.match(log, /^NCAPP_NAME=show$/m);
    assert.match(log, new RegExp(`^NODE_NAME=${node.nodeName}$`, "m"));
    assert.match(log, /^umask:0022$/m);
    const descriptors = /^fds:(.*)$/m.exec(log)?.[1]?.split(" ").map((path) =>
      Number(path.slice("/proc/self/fd/".length))
    );
    // The shell has the third one for its own look at the folder.
    assert.deepEqual(descriptors?.filter((descriptor) => ![0, 1, 2, 3].includes(descriptor)), []);
    const names = log.split("\n").flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []).sort();
    const expected =
      "HOME LANG LOGNAME NCAPP_NAME NCAPP_NAMESPACE NCAPP_RUN NCAPP_UID NODE_NAME PATH TEXT USER".split(" ");
    // A shell may set these for itself.
    assert.deepEqual(names.filter((name) => !["PWD", "SHLVL", "_"].includes(name)), expected);
  });

  test("a script without shebang, with a space in its path and no newline at its end runs by sh", async () => {
    await using node = await createNode();
    const shellFile = await node.script("my app.sh", "echo from $0; exit 4");
    await node.assign("plain", { shellFile, restartPolicy: "Never" });
    const { lastExit } = await node.reach("plain", "Failed");
    assert.equal(lastExit?.code, 4);
    assert.match(lastExit?.message ?? "", /from .*my app\.sh/);
  });

  test("a script that daemonizes runs for as long as its children", async () => {
    await using node = await createNode();
    const pidFile = join(node.folder, "daemon.pid");
    const shellFile = await node.script(
      "daemon.sh",
      `#!/bin/sh\nsetsid sh -c 'echo $$ >${pidFile}; exec sleep 300' &\nexit 0\n`,
    );
    await node.assign("daemon", { shellFile, restartPolicy: "Never" });
    const pid = await waitFor(
      "pid file",
      async () => Number(await readFile(pidFile, "utf8").catch(() => "")) || undefined,
    );
    await node.reach("daemon", "Running");
    node.supervisor.tick();
    await node.reach("daemon", "Running");
    process.kill(pid, "SIGKILL");
    const { lastExit } = await node.reach("daemon", "Failed");
    assert.deepEqual([lastExit?.code, lastExit?.signal, lastExit?.reason], [137, "SIGKILL", "Error"]);
  });

  test("a daemon that ends by itself with 0 has completed, after any number of forks", async () => {
    await using node = await createNode();
    const gate = join(node.folder, "gate");
    const wait = `until [ -e ${gate} ]; do sleep 0.1; done`;
    const shellFile = await node.script(
      "forks.sh",
      `#!/bin/sh\n(setsid sh -c "(${wait}) & exit 0" &)\nexit 0\n`,
    );
    await node.assign("forks", { shellFile, restartPolicy: "OnFailure" });
    await node.reach("forks", "Running", ({ run }) => run?.survivor !== undefined);
    await writeFile(gate, "");
    const { lastExit } = await node.reach("forks", "Succeeded");
    assert.deepEqual([lastExit?.code, lastExit?.reason], [0, "Completed"]);
  });

  test("a daemon whose launcher was killed ends with a status that nobody knows, not with 0", async () => {
    await using node = await createNode();
    const shellFile = await node.script("daemon.sh", "#!/bin/sh\nsetsid sleep 300 &\nexit 0\n");
    await node.assign("daemon", { shellFile, restartPolicy: "Never" });
    const { run } = await node.reach("daemon", "Running", ({ run }) => run?.survivor !== undefined);
    process.kill(run!.launcher!.pid, "SIGKILL");
    process.kill(run!.survivor!, "SIGKILL");
    const { lastExit } = await node.reach("daemon", "Failed");
    assert.deepEqual([lastExit?.code, lastExit?.reason], [undefined, "Lost"]);
  });

  test("a script that fails and leaves children is failed, and the children are ended", async () => {
    await using node = await createNode();
    const shellFile = await node.script("fail.sh", "#!/bin/sh\nsleep 300 &\nexit 5\n");
    await node.assign("fail", { shellFile, restartPolicy: "Never" });
    const { lastExit } = await node.reach("fail", "Failed");
    assert.deepEqual([lastExit?.code, lastExit?.reason], [5, "Error"]);
    await node.liveRuns(0);
  });

  test("a stop reaches double forks in sessions of their own that ignore SIGTERM", async () => {
    await using node = await createNode();
    const shellFile = await node.script(
      "stubborn.sh",
      `#!/bin/sh\ntrap '' TERM\n(setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &)\necho up\nwhile :; do sleep 1; done\n`,
    );
    await node.assign("stubborn", { shellFile, terminationGracePeriodSeconds: 1 });
    await node.logHas("stubborn", "up");
    node.supervisor.withdraw("default/stubborn");
    await node.gone("stubborn");
    await node.liveRuns(0);
    assert.deepEqual(await readdir(join(node.layout.stateDir, "runs")), []);
    assert.deepEqual(await readdir(join(node.layout.stateDir, "marks")), []);
    assert.deepEqual(await readdir(join(node.layout.stateDir, "apps")), []);
    assert.deepEqual(await readdir(node.layout.privateDir), []);
  });

  test("the values of Secrets are in the private folder alone, for the agent and the app, and go with the app", async () => {
    await using node = await createNode();
    const { privateDir, stateDir, logDir } = node.layout;
    const said = join(node.folder, "said");
    const stopFile = await node.script("stop.sh", `#!/bin/sh\necho "$PASSWORD" >${said}\n`);
    await node.assign("secret", {
      shellFile: await node.script("secret.sh", forever),
      stopFile,
      env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
    });
    await node.logHas("secret", "up");
    const { run } = await node.reach("secret", "Running");
    assert.deepEqual(await filesWith("resolved", [stateDir, logDir]), []);
    // The second file has the values for a start without the API server.
    const files = [join(privateDir, ".values-default_secret"), join(privateDir, run!.id)];
    assert.deepEqual((await filesWith("resolved", [privateDir])).sort(), files);
    const modes = await Promise.all([privateDir, ...files].map((path) => stat(path)));
    assert.deepEqual(modes.map(({ mode }) => mode & 0o777), [0o700, 0o600, 0o600]);
    await node.restartAgent();
    node.supervisor.withdraw("default/secret");
    await node.gone("secret");
    assert.equal(await readFile(said, "utf8"), "resolved\n");
    assert.deepEqual(await readdir(privateDir), []);
  });

  test("a command in a run whose environment file was removed fails with the reason, and a restart fixes it", async () => {
    await using node = await createNode();
    const shellFile = await node.script("emptied.sh", forever);
    await node.assign("emptied", { shellFile });
    const { run } = await node.reach("emptied", "Running");
    await rm(node.layout.privateDir, { recursive: true });
    const enter = (runId: string) =>
      execInRun(runFolder(node.layout, runId), ["true"], { timeoutMs: 60_000, launcher: node.launcher });
    await assert.rejects(enter(run!.id), /cannot read the environment .*ENOENT; restart the app/);
    await node.assign("emptied", { shellFile, args: ["again"] });
    const { run: next } = await node.reach("emptied", "Running", (now) => now.run?.id !== run!.id);
    assert.equal((await enter(next!.id)).code, 0);
  });

  test("a run whose environment an earlier agent kept elsewhere can be entered, and leaves nothing there", async () => {
    await using node = await createNode();
    await node.assign("moved", { shellFile: await node.script("moved.sh", forever) });
    const { run } = await node.reach("moved", "Running");
    const folder = runFolder(node.layout, run!.id);
    const path = join(node.folder, "other-private", run!.id);
    await mkdir(dirname(path), { recursive: true });
    await rename(join(node.layout.privateDir, run!.id), path);
    const context = { ...await readRunContext(folder), environment: path };
    await writeFile(join(folder, "inside.json"), JSON.stringify(context));
    await node.restartAgent();
    const script = 'test "$NCAPP_NAME" = moved';
    const { code } = await execInRun(folder, ["sh", "-c", script], {
      timeoutMs: 60_000,
      launcher: node.launcher,
    });
    assert.equal(code, 0);
    node.supervisor.withdraw("default/moved");
    await node.gone("moved");
    assert.equal(existsSync(path), false, path);
  });

  test("an app is not started where its environment would be in a folder of another user", {
    skip: !isRoot && "needs root to make one",
  }, async () => {
    await using node = await createNode();
    await mkdir(node.layout.privateDir);
    await chown(node.layout.privateDir, 1, 1);
    await node.assign("planted", { shellFile: await node.script("planted.sh", forever) });
    const { message } = await node.reach("planted", "Pending", ({ reason }) => reason !== "");
    assert.match(message ?? "", /cannot keep environments in .*private: it belongs to user 1: remove it/);
    assert.deepEqual(await readdir(node.layout.privateDir), []);
  });

  /** A script that says which signals it gets; only SIGTERM, or the file `go`, ends it. */
  const listener = (folder: string) =>
    `#!/bin/sh
for name in HUP QUIT USR1; do trap "echo got $name" $name; done
trap 'echo got TERM; exit 0' TERM
echo up
while [ ! -e ${folder}/go ]; do sleep 0.05; done
echo ended by itself
`;
  /** Its log, without what shells say about their children. */
  const saidBy = async (node: TestNode, name: string) =>
    (await node.log(name)).replaceAll("Terminated\n", "");

  test("a stop file is run inside of the app; one that succeeds leaves the app time to end before the signal", async () => {
    await using node = await createNode();
    const shellFile = await node.script("server.sh", listener(node.folder));
    const stopFile = await node.script(
      "stop.sh",
      `#!/bin/sh\necho "stopping $NCAPP_NAME"\n: >${node.folder}/go\n`,
    );
    await node.assign("server", { shellFile, stopFile, terminationGracePeriodSeconds: 600 });
    await node.logHas("server", "up");
    await node.supervisor.order("default/server", "stop");
    const { lastExit } = await node.reach("server", "Stopped");
    assert.deepEqual([lastExit?.reason, lastExit?.code, lastExit?.message], ["Stopped", 0, ""]);
    assert.equal(await node.log("server"), "up\nstopping server\nended by itself\n");
  });

  test("an app that does not end after its stop file gets the signal within the grace period", async () => {
    await using node = await createNode();
    const shellFile = await node.script("server.sh", listener(node.folder));
    const stopFile = await node.script("stop.sh", "#!/bin/sh\necho stopping\n");
    await node.assign("server", { shellFile, stopFile, terminationGracePeriodSeconds: 5 });
    await node.logHas("server", "up");
    await node.supervisor.order("default/server", "stop");
    assert.equal((await node.reach("server", "Stopped")).lastExit?.code, 0);
    assert.equal(await saidBy(node, "server"), "up\nstopping\ngot TERM\n");
  });

  const failing: [what: string, script: string | undefined, graceSeconds: number, problem: RegExp][] = [
    ["is missing", undefined, 600, /no such file on this node$/],
    ["fails", "#!/bin/sh\nexit 3\n", 600, /ended with status 3$/],
    ["has no interpreter", "#!/no/interpreter\n", 600, /there is no "\/no\/interpreter" on this node$/],
    ["hangs", "#!/bin/sh\nsleep 600\n", 3, /did not end in 2\.\d s and was killed$/],
  ];
  for (const [what, text, terminationGracePeriodSeconds, problem] of failing) {
    test(`a stop file that ${what} is an event and in the last exit, and the signal follows it at once`, async () => {
      await using node = await createNode();
      const shellFile = await node.script("server.sh", listener(node.folder));
      const stopFile = text === undefined ? "/no/stop.sh" : await node.script("stop.sh", text);
      const events: string[] = [];
      node.supervisor.listen({
        changed: () => {},
        event: (_app, { reason, message }) => reason === "StopFileFailed" && events.push(message),
        forgotten: () => {},
      });
      await node.assign("server", { shellFile, stopFile, terminationGracePeriodSeconds });
      await node.logHas("server", "up");
      await node.supervisor.order("default/server", "stop");
      const { lastExit } = await node.reach("server", "Stopped");
      assert.match(lastExit?.message ?? "", problem);
      assert.deepEqual(events, [`${lastExit?.message}; SIGTERM follows`]);
      assert.ok(events[0]?.startsWith(`spec.stopFile: ${JSON.stringify(stopFile)}`), `${events[0]}`);
      assert.deepEqual([lastExit?.code, await saidBy(node, "server")], [0, "up\ngot TERM\n"]);
    });
  }

  test("stopSignal and stopTarget apply live: the main process alone gets the signal, or all do", async () => {
    for (const stopTarget of ["Main", "All"] as const) {
      await using node = await createNode();
      const child =
        "#!/bin/sh\ntrap 'echo child got QUIT' QUIT\necho child up\nwhile :; do sleep 0.05; done\n";
      const main = `#!/bin/sh
trap 'echo main got QUIT; kill -9 $child; exit 0' QUIT
${await node.script("child.sh", child)} & child=$!
echo main up
while :; do sleep 0.05; done
`;
      const shellFile = await node.script("main.sh", main);
      await node.assign("app", { shellFile });
      const { run } = await node.reach("app", "Running");
      await waitFor(
        "both are up",
        async () => /child up/.test(await node.log("app")) && /main up/.test(await node.log("app")),
      );
      const spec: NCAppSpec = { shellFile, stopSignal: "SIGQUIT", stopTarget };
      await node.assign("app", { ...spec, terminationGracePeriodSeconds: 600 });
      await waitFor("the new spec", () => node.record("app").app.spec.stopSignal === "SIGQUIT");
      assert.equal(node.record("app").run?.id, run?.id);
      await node.supervisor.order("default/app", "stop");
      const { lastExit } = await node.reach("app", "Stopped");
      assert.deepEqual([lastExit?.reason, lastExit?.code], ["Stopped", 0]);
      const log = await node.log("app");
      assert.match(log, /main got QUIT/);
      if (stopTarget === "Main") assert.doesNotMatch(log, /child got/);
    }
  });

  test("stopTarget Main signals what the script left behind, once the script has ended", async () => {
    await using node = await createNode();
    const daemon = await node.script("daemon.sh", listener(node.folder));
    const shellFile = await node.script("start.sh", `#!/bin/sh\n${daemon} &\n`);
    await node.assign("app", { shellFile, stopTarget: "Main", terminationGracePeriodSeconds: 600 });
    await node.reach("app", "Running", ({ run }) => run?.survivor !== undefined);
    await node.logHas("app", "up");
    await node.supervisor.order("default/app", "stop");
    await node.reach("app", "Stopped");
    assert.equal(await saidBy(node, "app"), "up\ngot TERM\n");
  });

  test("$NCAPP_PID of exec probes and stop files is the main process: the script, then what it left behind", async () => {
    await using node = await createNode();
    const [probed, stopped, go] = ["probed", "stopped", "go"].map((name) => join(node.folder, name));
    const daemon = "#!/bin/sh\nsleep 600 & echo $!\n" + `while [ ! -e ${go} ]; do sleep 0.05; done\n`;
    const command = ["sh", "-c", `echo $NCAPP_PID >${probed}`];
    await node.assign("app", {
      shellFile: await node.script("daemon.sh", daemon),
      stopFile: await node.script("stop.sh", `#!/bin/sh\necho $NCAPP_PID >${stopped}\n`),
      livenessProbe: { exec: { command }, periodSeconds: 1, timeoutSeconds: 30 },
    });
    const pidIn = async (path = "") => Number(await readFile(path, "utf8").catch(() => ""));
    const main = (await node.reach("app", "Running", ({ run }) => run?.main !== undefined)).run?.main?.pid;
    await waitFor("the script's process", async () => await pidIn(probed) === main);
    await writeFile(go!, "");
    const child = Number((await node.logHas("app", "\n")).trim());
    await waitFor("the daemon's process", async () => await pidIn(probed) === child);
    node.supervisor.withdraw("default/app");
    await node.gone("app");
    assert.equal(await pidIn(stopped), child);
  });

  test("a new agent finds the same process, and no restart happened", async () => {
    await using node = await createNode();
    await node.assign("steady", { shellFile: await node.script("steady.sh", forever) });
    const before = await node.reach("steady", "Running");
    for (let round = 0; round < 3; round++) await node.restartAgent();
    const after = await node.reach("steady", "Running");
    assert.deepEqual(after.run?.main, before.run?.main);
    assert.equal(after.restarts, 0);
    await node.liveRuns(1);
  });

  test("an exit that happened while no agent was there is read by the next", async () => {
    await using node = await createNode();
    const go = join(node.folder, "go");
    const shellFile = await node.script(
      "late.sh",
      `#!/bin/sh\nwhile [ ! -e ${go} ]; do sleep 0.05; done\necho last words\nexit 42\n`,
    );
    await node.assign("late", { shellFile, restartPolicy: "Never" });
    const { run } = await node.reach("late", "Running");
    await node.restartAgent(async () => {
      await writeFile(go, "");
      await waitFor("the script has ended", async () => !node.isAlive(run!.main!));
    });
    const { lastExit } = await node.reach("late", "Failed");
    assert.deepEqual([lastExit?.code, lastExit?.message], [42, "last words"]);
  });

  test("an agent that died between its decision and the launch leads to one instance", async () => {
    await using node = await createNode();
    await node.assign("cut", { shellFile: await node.script("cut.sh", forever), suspend: true });
    const stopped = await node.reach("cut", "Stopped");
    await node.restartAgent(async () => {
      const app = { ...stopped.app, spec: { ...stopped.app.spec, suspend: false } };
      const bootId = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
      const run = { id: "abc-123", bootId, hash: "0", createdAt: Date.now(), leaf: "" };
      await writeFile(
        recordPath(node.layout, "default_cut"),
        encodeRecord({ ...stopped, app, phase: "Starting", run }),
      );
    });
    await node.reach("cut", "Running", ({ run }) => run?.id !== "abc-123");
    await node.logHas("cut", "up");
    await node.liveRuns(1);
  });

  test("what is left of a run that no record knows is cleared away, and keeps no agent from starting", async () => {
    await using node = await createNode();
    await node.assign("known", { shellFile: await node.script("known.sh", forever) });
    const before = await node.reach("known", "Running");
    await node.restartAgent(async () => {
      await writeFile(join(node.layout.stateDir, "marks", "abc-left.claim"), "");
      await writeFile(join(node.layout.stateDir, "marks", "abc-left.exit"), "exit 1\n");
      await writeFile(join(node.layout.privateDir, "abc-lost"), "export PASSWORD='resolved'\n");
    });
    assert.deepEqual((await node.reach("known", "Running")).run?.main, before.run?.main);
    const marks = await readdir(join(node.layout.stateDir, "marks"));
    assert.deepEqual(marks.filter((file) => file.startsWith("abc-left")), []);
    assert.deepEqual(await readdir(node.layout.privateDir), [before.run?.id]);
  });

  test("a lost state file costs nothing: the app is recovered from its run", async () => {
    await using node = await createNode();
    await node.assign("torn", { shellFile: await node.script("torn.sh", forever) });
    const before = await node.reach("torn", "Running");
    for (const damage of ["", "half a rec", encodeRecord(before).replace("torn", "tern")]) {
      await node.restartAgent(() => writeFile(recordPath(node.layout, "default_torn"), damage));
      const after = await node.reach("torn", "Running");
      assert.deepEqual(after.run?.main, before.run?.main);
    }
  });

  test("an object recreated under the same name is another app: the old one goes first, then one of the new runs", async () => {
    await using node = await createNode();
    const shellFile = await node.script(
      "again.sh",
      '#!/bin/sh\necho "uid:$NCAPP_UID"\nwhile :; do sleep 1; done\n',
    );
    for (let round = 0; round < 5; round++) {
      await node.assign("again", { shellFile }, { uid: `uid-${round}` });
    }
    const record = await node.reach("again", "Running", ({ app }) => app.metadata.uid === "uid-4");
    await node.liveRuns(1);
    assert.equal(record.restarts, 0);
    assert.match(await node.logHas("again", "uid:"), /^uid:uid-4$/m);
  });

  test("a change of limits leaves the process alone, a change of arguments starts a new one", async () => {
    await using node = await createNode();
    const shellFile = await node.script("change.sh", forever);
    await node.assign("change", { shellFile });
    const before = await node.reach("change", "Running");
    await node.assign("change", { shellFile, pidsMax: 100 });
    await node.reach("change", "Running", ({ app }) => app.spec.pidsMax === 100);
    assert.deepEqual(node.record("change").run?.main, before.run?.main);
    await node.assign("change", { shellFile, pidsMax: 100, args: ["new"] });
    const after = await node.reach("change", "Running", ({ run }) => run?.id !== before.run?.id);
    assert.equal(after.restarts, 0);
    await node.liveRuns(1);
  });

  test("suspend stops the app and keeps it; without suspend it runs again", async () => {
    await using node = await createNode();
    const shellFile = await node.script("pause.sh", forever);
    await node.assign("pause", { shellFile });
    await node.reach("pause", "Running");
    await node.assign("pause", { shellFile, suspend: true });
    await node.reach("pause", "Stopped");
    await node.liveRuns(0);
    await node.assign("pause", { shellFile });
    await node.reach("pause", "Running");
  });

  test("a terminal state holds over a restart of the agent", async () => {
    await using node = await createNode();
    await node.assign("once", {
      shellFile: await node.script("once.sh", "echo ran\n"),
      restartPolicy: "Never",
    });
    await node.reach("once", "Succeeded");
    await node.restartAgent();
    node.supervisor.tick();
    await node.assign("once", { shellFile: join(node.folder, "once.sh"), restartPolicy: "Never" });
    await node.reach("once", "Succeeded");
    assert.equal(await node.log("once"), "ran\n");
  });

  test("an app with a schedule runs to completion at its times, and its runs do not count as restarts", async () => {
    await using node = await createNode();
    const shellFile = await node.script("tick.sh", "echo tick\n");
    await node.assign("tick", { shellFile, schedule: "* * * * * *" });
    await waitFor("two runs", async () => (await node.log("tick")).split("tick").length > 2);
    const { restarts, lastExit } = node.record("tick");
    assert.deepEqual([restarts, lastExit?.reason], [0, "Completed"]);
    // On a slow machine the next run is always due: there it never rests by itself.
    await node.assign("tick", { shellFile, schedule: "* * * * * *", suspend: true });
    await node.reach("tick", "Stopped");
  });

  test("under Allow runs live side by side, and a stop ends them all", async () => {
    await using node = await createNode();
    await node.assign("many", {
      shellFile: await node.script("many.sh", forever),
      schedule: "* * * * * *",
      concurrencyPolicy: "Allow",
    });
    await node.reach("many", "Running", ({ others }) => (others?.length ?? 0) >= 2);
    node.supervisor.withdraw("default/many");
    await node.gone("many");
    await node.liveRuns(0);
  });

  test("an exec session in an app that crashes delays nothing, and ends with the run", async () => {
    await using node = await createNode();
    const [end, stopped, inside] = ["end", "stopped", "inside"].map((name) => join(node.folder, name));
    await node.assign("visited", {
      shellFile: await node.script("visited.sh", `while [ ! -e ${end} ]; do sleep 0.1; done; exit 3\n`),
      stopFile: await node.script("stop.sh", `touch ${stopped}\n`),
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 600,
    });
    const { run } = await node.reach("visited", "Running");
    const session = stay(node, run!.id, inside!);
    await waitFor("the session", () => existsSync(inside!));
    await writeFile(end!, "");
    const { lastExit } = await node.reach("visited", "Failed");
    assert.deepEqual([lastExit?.code, lastExit?.reason, lastExit?.message], [3, "Error", ""]);
    assert.equal(existsSync(stopped!), false, "there was nothing to stop");
    assert.equal((await session).signal, "SIGKILL");
    await node.liveRuns(0);
  });

  test("a daemon is the app, an exec session is not: when the daemon ends, the app does", async () => {
    await using node = await createNode();
    const [end, pidFile, inside] = ["end", "daemon.pid", "inside"].map((name) => join(node.folder, name));
    const daemon = `setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' &`;
    await node.assign("visited", {
      shellFile: await node.script(
        "visited.sh",
        `while [ ! -e ${end} ]; do sleep 0.1; done; ${daemon}\nexit 0\n`,
      ),
      restartPolicy: "Never",
    });
    const { run } = await node.reach("visited", "Running");
    const session = stay(node, run!.id, inside!);
    await waitFor("the session", () => existsSync(inside!));
    await writeFile(end!, "");
    const daemonPid = () => readFile(pidFile!, "utf8").then(Number, () => 0);
    const { run: left } = await node.reach("visited", "Running", ({ run }) => run?.survivor !== undefined);
    assert.equal(left?.survivor, await waitFor("the daemon", async () => await daemonPid() || undefined));
    process.kill(left!.survivor!, "SIGKILL");
    await waitFor("a look finds that it has ended", () => {
      node.supervisor.tick();
      return node.record("visited").phase === "Failed";
    });
    assert.equal((await session).signal, "SIGKILL");
    await node.liveRuns(0);
  });

  test("an app has the usual limit of open files, and may raise it as far as the agent's own", async (t) => {
    const raised = spawnSync("prlimit", ["--pid", `${process.pid}`, "--nofile=100000:100000"]);
    if (raised.status !== 0) return t.skip("the limit of this process cannot be raised");
    await using node = await createNode();
    const shellFile = await node.script("limits.sh", "#!/bin/sh\nulimit -Sn\nulimit -Hn\n");
    await node.assign("limits", { shellFile, restartPolicy: "Never" });
    await node.reach("limits", "Succeeded");
    assert.equal(await node.log("limits"), "65536\n100000\n");
  });

  test("an exec probe runs inside of the app: readiness follows it, and failed liveness restarts the app with its message", async () => {
    await using node = await createNode();
    const [healthy, serving] = [join(node.folder, "healthy"), join(node.folder, "serving")];
    await writeFile(healthy, "");
    const inside = (
      file: string,
    ) => [
      "sh",
      "-c",
      `[ "$NCAPP_NAME" = probed ] && [ -e ${file} ] || { echo "${file} is missing"; exit 1; }`,
    ];
    const timing = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 };
    await node.assign("probed", {
      shellFile: await node.script("probed.sh", forever),
      backoffSeconds: 1,
      livenessProbe: { exec: { command: inside(healthy) }, ...timing },
      readinessProbe: { exec: { command: inside(serving) }, ...timing },
    });
    const first = await node.reach("probed", "Running", ({ run }) => run?.ready === false);
    await writeFile(serving, "");
    await node.reach("probed", "Running", ({ run }) => run?.ready === true);
    await rm(healthy);
    await waitFor("the probe to end the run", () => node.record("probed").lastExit);
    await writeFile(healthy, "");
    const second = await node.reach("probed", "Running");
    assert.equal(second.lastExit?.reason, "ProbeFailed");
    assert.match(second.lastExit?.message ?? "", /^Liveness probe failed: .*healthy is missing/);
    assert.notEqual(second.run?.id, first.run?.id);
    assert.equal(second.restarts, 1);
  });

  test("an exec probe that cannot run neither restarts an app nor makes it unready; the Ready condition says why", async () => {
    await using node = await createNode();
    const script = await node.script("app.sh", forever);
    const events: string[] = [];
    node.supervisor.listen({
      changed: () => {},
      event: (_app, { reason, message }) => reason === "Unhealthy" && events.push(message),
      forgotten: () => {},
    });
    const timing = { periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1 };
    const broken = { exec: { command: ["true --or false"] }, ...timing };
    const spec = { shellFile: script, readinessProbe: { exec: { command: ["true"] }, ...timing } };
    await node.assign("probed", spec);
    const first = await node.reach("probed", "Running", ({ run }) => run?.ready === true);
    await node.assign("probed", { ...spec, livenessProbe: broken, readinessProbe: broken });
    const hasErrors = ({ run }: AppRecord) =>
      run?.probeErrors?.liveness !== undefined && run.probeErrors.readiness !== undefined;
    const record = await node.reach("probed", "Running", hasErrors);
    assert.deepEqual([record.run?.id, record.run?.ready, record.restarts], [first.run?.id, true, 0]);
    const ready = statusOf({ record }).conditions?.find(({ type }) => type === "Ready");
    assert.equal(ready?.status, "True");
    const why =
      'probe errored: cannot execute true --or false: not found; each word .*: \\["true","--or","false"\\]';
    assert.match(ready?.message ?? "", new RegExp(`Liveness ${why}.*; Readiness ${why}`));
    assert.deepEqual(events.map((message) => message.slice(0, 8)).sort(), ["Liveness", "Readines"]);
    assert.equal(node.supervisor.get("default/probed")?.probeFailures, undefined);
    await node.assign("probed", spec);
    await node.reach("probed", "Running", ({ run }) => run?.probeErrors?.readiness === undefined);
    const healed = statusOf({ record: node.record("probed") }).conditions;
    assert.equal(healed?.find(({ type }) => type === "Ready")?.message, "");
  });

  const ok = (spec: NCAppSpec) => (folder: string) => ({ shellFile: `${folder}/ok.sh`, ...spec });
  const bad: [what: string, spec: (folder: string) => NCAppSpec, reason: string, message: RegExp][] = [
    ["a missing file", () => ({ shellFile: "/no/such.sh" }), "ScriptNotFound", /"\/no\/such\.sh"/],
    ["a folder", (folder) => ({ shellFile: folder }), "InvalidScript", /is a folder/],
    ["a device", () => ({ shellFile: "/dev/null" }), "InvalidScript", /not a regular file/],
    ["an unknown user", ok({ runAsUser: "nobody-here" }), "UnknownUser", /spec\.runAsUser: "nobody-here"/],
    ["a wrong digest", ok({ shellFileSHA256: "0".repeat(64) }), "DigestMismatch", /spec\.shellFileSHA256/],
    ["a missing folder", ok({ workingDir: "/no/folder" }), "InvalidWorkingDir", /"\/no\/folder"/],
  ];
  for (const [what, spec, reason, message] of bad) {
    test(`${what} is pending with one clear reason, and nothing runs`, async () => {
      await using node = await createNode();
      await node.script("ok.sh", forever);
      await node.assign("bad", spec(node.folder));
      const record = await node.reach("bad", "Pending", (record) => record.reason !== "");
      assert.equal(record.reason, reason);
      assert.match(record.message, message);
      await node.liveRuns(0);
    });
  }

  test(
    "an app runs as its own user, with that user's groups only and no way to more",
    { skip: !isRoot && "only root can run an app as another user" },
    async () => {
      await using node = await createNode();
      const shellFile = await node.script(
        "who.sh",
        "#!/bin/sh\nid; grep NoNewPrivs /proc/self/status; sleep 60\n",
      );
      await node.assign("who", { shellFile, runAsUser: "nobody", workingDir: "/" });
      const log = await node.logHas("who", "NoNewPrivs");
      assert.match(log, /^uid=65534\(nobody\) gid=65534\(nogroup\) groups=65534\(nogroup\)$/m);
      assert.match(log, /^NoNewPrivs:\s+1$/m);
    },
  );

  test("no secret of the environment stands in an argument list", async () => {
    await using node = await createNode();
    const shellFile = await node.script("secret.sh", '#!/bin/sh\necho "has ${#SECRET} letters"\nsleep 60\n');
    const secret = randomUUID();
    await node.assign("secret", { shellFile, env: [{ name: "SECRET", value: secret }] });
    await node.logHas("secret", `has ${secret.length} letters`);
    const lines = await node.commandLines();
    assert.ok(lines.some((line) => line.includes(shellFile)), "the script's process is among them");
    assert.deepEqual(lines.filter((line) => line.includes(secret)), []);
  });
}

/** The files below these folders that hold the text. */
async function filesWith(text: string, folders: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && (await readFile(path, "utf8")).includes(text)) found.push(path);
    }
  }
  return found;
}

/** Somebody who is inside of a run, and stays whatever is asked of it. */
function stay({ layout, launcher }: TestNode, runId: string, pidFile: string) {
  const command = ["sh", "-c", `trap '' TERM; echo $$ >${pidFile}; while :; do sleep 1; done`];
  return execInRun(runFolder(layout, runId), command, { timeoutMs: 600_000, launcher });
}
