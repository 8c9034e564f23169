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
import {
  closeInheritedDescriptors,
  inheritedDescriptors,
} from "../../src/cli/commands/inherited-descriptors.ts";
import { execInRun } from "../../src/supervisor/run/run.ts";
import { readRunContext } from "../../src/supervisor/run/run-context.ts";
import { recordPath, runFolder } from "../../src/supervisor/layout.ts";
import { encodeRecord } from "../../src/supervisor/records/record-store.ts";
import { waitFor } from "../wait-for.ts";
import { createTestNode, type TestNode } from "./test-node.ts";

closeInheritedDescriptors();
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
    // The shell has the third one for its own look at the folder. Deno cannot close what it was started with.
    const allowed = [0, 1, 2, 3, ...inheritedDescriptors()];
    assert.deepEqual(descriptors?.filter((descriptor) => !allowed.includes(descriptor)), []);
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
    const { lastExit } = await node.reach("daemon", "Succeeded");
    assert.equal(lastExit?.code, 0);
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

  test("a stop file is run inside of the app before SIGTERM", async () => {
    await using node = await createNode();
    const shellFile = await node.script(
      "server.sh",
      "#!/bin/sh\ntrap 'echo got term; exit 0' TERM\necho up\nwhile :; do sleep 0.1; done\n",
    );
    const said = join(node.folder, "said");
    const stopFile = await node.script("stop.sh", `#!/bin/sh\necho "stopping $NCAPP_NAME" >${said}\n`);
    await node.assign("server", { shellFile, stopFile });
    await node.logHas("server", "up");
    node.supervisor.withdraw("default/server");
    await node.gone("server");
    assert.equal(await readFile(said, "utf8"), "stopping server\n");
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
      return node.record("visited").phase === "Succeeded";
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
    const waiting = await node.reach("probed", "BackOff");
    assert.equal(waiting.lastExit?.reason, "ProbeFailed");
    assert.match(waiting.lastExit?.message ?? "", /^Liveness probe failed: .*healthy is missing/);
    await writeFile(healthy, "");
    const second = await node.reach("probed", "Running");
    assert.notEqual(second.run?.id, first.run?.id);
    assert.equal(second.restarts, 1);
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
