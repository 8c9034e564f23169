import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startTestAgent, type TestAgent } from "./test-agent.ts";
import { firstPart } from "../supervisor/logs/log-files.ts";

const forever = "echo up; exec sleep 600";

function manifest(name: string, shellFile: string, more = ""): string {
  return [
    "apiVersion: app.example.com/v1alpha1",
    "kind: NCApp",
    `metadata: {name: ${name}, labels: {app: ${name}, tier: test}}`,
    `spec: {shellFile: ${shellFile}, terminationGracePeriodSeconds: 1${more}}`,
    "",
  ].join("\n");
}

describe("everyday commands", () => {
  const temp = tempFolder();
  const manifests = join(temp.path, "manifests");
  let agent: TestAgent;
  let script: string;

  before(async () => {
    await mkdir(manifests);
    agent = await startTestAgent({ manifests });
    script = await agent.script("web.sh", forever);
    await writeFile(join(manifests, "web.yaml"), manifest("web", script));
    await writeFile(join(temp.path, "two.yaml"), `${manifest("a", script)}---\n${manifest("b", script)}`);
    await agent.command("apply", "-f", join(temp.path, "two.yaml"));
    await waitFor("all run", async () => (await agent.command("ps")).stdout.match(/Running/g)?.length === 3);
  });
  after(async () => {
    await agent[Symbol.asyncDispose]();
    temp.remove();
  });

  test("apps of a manifest are restarted, stopped and started", async () => {
    assert.match((await agent.command("restart", "web")).stdout, /^default\/web is running/);
    assert.match((await agent.command("stop", "web")).stdout, /is stopped/);
    assert.match(
      (await agent.command("ps", "web")).stdout,
      /^default +web +Stopped .*'nckubelet start web'/m,
    );
    assert.match((await agent.command("describe", "web")).stdout, /^Reason: +StoppedByOperator$/m);
    assert.match((await agent.command("start", "web")).stdout, /^default\/web is running/);
  });

  test("ps shows the apps that are named or have a label", async () => {
    const names = async (...words: string[]) =>
      (await agent.command("ps", "-o", "name", ...words)).stdout.trim().split("\n").join(" ");
    assert.equal(await names(), "default/a default/b default/web");
    assert.equal(await names("b", "web"), "default/b default/web");
    assert.equal(await names("-l", "app in (a, web)"), "default/a default/web");
    assert.match((await agent.command("ps", "wbe")).stderr, /did you mean default\/web\?/);
  });

  test("ps, top, describe and events take labels, and say if no app has them", async () => {
    const shown = async (...words: string[]) =>
      [...(await agent.command(...words, "-l", "app in (a,b)")).stdout.matchAll(
        /^(?:default\/|Name: +)(\w+)/gm,
      )]
        .map(([, name]) => name!);
    assert.deepEqual(await shown("describe"), ["a", "b"]);
    assert.deepEqual((await shown("top", "--once")).sort(), ["a", "b"]);
    assert.deepEqual([...new Set(await shown("events"))].sort(), ["a", "b"]);
    for (const command of ["ps", "top"]) {
      const { stdout } = await agent.command(command, "-l", "app=none");
      assert.match(stdout, /^No app has the labels app=none\.$/m);
    }
    assert.match((await agent.command("describe", "-l", "app=none")).stderr, /no app matches --selector/);
  });

  test("ps --watch prints a line for each change where there is no terminal", async () => {
    const leave = new AbortController();
    const { output, done } = agent.begin(["ps", "--watch", "a"], { signal: leave.signal });
    await waitFor("the first table", () => /^NAMESPACE.*\n.* a +Running/.test(output.stdout));
    await agent.command("stop", "a");
    await waitFor("the change", () => / a +Stopped/.test(output.stdout));
    leave.abort();
    assert.equal((await done).stdout.match(/NAMESPACE/g)?.length, 1);
    await agent.command("start", "a");
  });

  test("stop, start and restart take a selector or --all, and refuse both with names", async () => {
    const stopped = await agent.command("stop", "-l", "app in (a,b)");
    assert.deepEqual(stopped.stdout.match(/default\/\w+ is stopped/g)?.sort(), [
      "default/a is stopped",
      "default/b is stopped",
    ]);
    assert.equal((await agent.command("start", "--all")).stdout.match(/is running/g)?.length, 3);
    assert.match((await agent.command("stop", "--all", "web")).stderr, /name apps, or use --all, not both/);
    assert.match((await agent.command("stop", "-l", "app=nobody")).stderr, /no app matches --selector/);
  });

  test("events and describe tell what happened, and describe ends with the log", async () => {
    await agent.command("restart", "web");
    const events = (await agent.command("events", "web")).stdout;
    assert.match(events, /^APP +TYPE +REASON +AGE +MESSAGE$/m);
    assert.match(events, /^default\/web +Normal +Stopping +\S+.* Stopping: a restart was requested$/m);
    assert.ok(!events.includes("default/a"));
    assert.match((await agent.command("events")).stdout, /^default\/a /m);
    assert.equal(
      JSON.parse((await agent.command("events", "-n", "none", "-o", "json")).stdout).items.length,
      0,
    );
    const described = (await agent.command("describe", "web")).stdout;
    assert.match(described, /^Events:\n +TYPE +REASON/m);
    assert.match(described, /\nLog, last lines:\n(?: {2}up\n)+$/);
  });

  test("history tells what happened with exits, edits and output, and outlives the app with events --since", async () => {
    const failing = await agent.script("failing.sh", "echo cannot bind; exit 3");
    const file = join(temp.path, "failing.yaml");
    await writeFile(file, manifest("failing", script));
    await agent.command("apply", "--wait", "-f", file);
    await writeFile(file, manifest("failing", failing, ", restartPolicy: Never"));
    await agent.command("apply", "-f", file);
    const told = await waitFor("its end", async () => {
      const { stdout } = await agent.command("history", "failing");
      return /status 3/.test(stdout) && stdout;
    });
    const edit = "The spec was changed: shellFile, restartPolicy \\(generation 2";
    assert.match(told, new RegExp(`^\\S+Z +Edited +${edit}`, "m"));
    assert.match(told, /^\S+Z +Exited +Ended with status 3: Error, after \d+s$/m);
    assert.match(told, /^ {4}before: .*the spec was changed \d+s earlier$/m);
    assert.match(told, /^ {4}\| cannot bind$/m);
    await agent.command("delete", "failing");
    assert.match((await agent.command("events", "failing")).stdout, /Deleted/);
    assert.ok(!(await agent.command("events")).stdout.includes("default/failing"));
    const after = await agent.command("events", "--since", "1h", "failing");
    assert.match(after.stdout, /^default\/failing +Normal +Deleted .*removed from this node$/m);
    assert.match((await agent.command("events", "--since", "1h")).stdout, /^default\/failing .* Exited /m);
    assert.match((await agent.command("history", "failing")).stdout, /Deleted/);
    assert.match((await agent.command("history", "filing")).stderr, /no app default\/filing on this node/);
  });

  test("apply --wait of an edit that goes back fails, and says why", async () => {
    const file = join(temp.path, "edited.yaml");
    const script = await agent.script(
      "edited.sh",
      'echo "is $1"; [ "$1" = good ] && exec sleep 1000; exit 4',
    );
    const apply = async (word: string) => {
      const update = "update: { minReadySeconds: 1, onFailure: Rollback }";
      await writeFile(file, manifest("edited", script, `, args: ["${word}"], ${update}`));
      return await agent.command("apply", "--wait", "-f", file);
    };
    assert.deepEqual((await apply("good")).code, 0);
    const { code, stderr } = await apply("bad");
    assert.equal(code, 1);
    assert.match(
      stderr,
      /default\/edited does not run what was applied: version \S+ failed: Ended with status 4: Error; back to/,
    );
    assert.match(stderr, /\nis bad$/m);
    await agent.command("delete", "edited");
  });

  test("undo goes back to the version before, and history lists both", async () => {
    const file = join(temp.path, "versions.yaml");
    const script = await agent.script("versions.sh", 'echo "version $1"; exec sleep 1000');
    const apply = async (version: string) => {
      const update = `, args: ["${version}"], update: { minReadySeconds: 1 }`;
      await writeFile(file, manifest("versions", script, update));
      await agent.command("apply", "--wait", "-f", file);
    };
    const states = async () => {
      const { stdout } = await agent.command("history", "-o", "json", "versions");
      return JSON.parse(stdout).revisions.map(({ state }: { state: string }) => state).join();
    };
    await apply("one");
    await waitFor("one is good", async () => await states() === "Good");
    assert.match((await agent.command("undo", "versions")).stderr, /there is nothing to undo/);
    await apply("two");
    await waitFor("two is good", async () => await states() === "Good,Previous");
    const { code, stdout, stderr } = await agent.command("undo", "versions");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^default\/versions is running \(pid \d+\); its version is \w+-\w+$/m);
    assert.match(
      (await agent.command("logs", "versions")).stdout,
      /version one\nversion two\nversion one\n$/,
    );
    const history = (await agent.command("history", "versions")).stdout;
    assert.match(
      history,
      /^VERSION +STATE +SINCE +REASON\n\S+ +Good .*\n\S+ +Previous .*\n\S+ +Refused .*UndoneByOperator$/m,
    );
    const described = (await agent.command("describe", "versions")).stdout;
    assert.match(described, /^ +RolledBack +True +UndoneByOperator /m);
    await agent.command("delete", "versions");
  });

  test("trigger runs an app with a schedule now, and says how it ended", async () => {
    const nightly = (code: number) => agent.script(`nightly-${code}.sh`, `echo ran; exit ${code}`);
    for (const code of [0, 3]) {
      const file = join(temp.path, `nightly-${code}.yaml`);
      await writeFile(file, manifest(`nightly-${code}`, await nightly(code), `, schedule: "0 0 1 1 *"`));
      await agent.command("apply", "--wait", "-f", file);
      const { code: exitCode, stdout, stderr } = await agent.command("trigger", `nightly-${code}`);
      // The script may still run when it is looked at.
      assert.match(
        stdout + stderr,
        new RegExp(
          `default/nightly-${code} (is running|was run and ended with status ${code}; next run at .*-01-01T)`,
        ),
      );
      if (stderr) assert.deepEqual([exitCode, code], [1, 3]);
      await waitFor(
        "its line",
        async () => (await agent.command("logs", `nightly-${code}`)).stdout === "ran\n",
      );
    }
    assert.match(
      (await agent.command("trigger", "web")).stderr,
      /default\/web has no schedule: .*restart web/,
    );
    await agent.command("delete", "nightly-0", "nightly-3");
  });

  test("trigger --wait exits with the status of the run that it started, and runs lists the last ones", async () => {
    const script = await agent.script("job.sh", 'echo "run of $1"; exec sh -c "$1"');
    const file = join(temp.path, "job.yaml");
    const apply = async (fields: string) => {
      await writeFile(file, manifest("job", script, `, schedule: "0 0 1 1 *", ${fields}`));
      await agent.command("apply", "--wait", "-f", file);
    };
    assert.match((await agent.command("trigger", "--wait", "--no-wait", "job")).stderr, /not both/);
    const cases = [
      ["exit 0", "", 0, /ended with status 0: Completed/],
      ["exit 3", "", 3, /ended with status 3: Error/],
      ["exit 4", ", restartPolicy: OnFailure", 4, /ended with status 4: Error/],
      ["kill -9 $$", "", 137, /ended with status 137 \(SIGKILL\): Error/],
      ["sleep 600", ", activeDeadlineSeconds: 1", 143, /ended with status 143 \(SIGTERM\): DeadlineExceeded/],
      ["exit 0", "", 0, /ended with status 0: Completed/],
      ["exit 0", "", 0, /ended with status 0: Completed/],
    ] as const;
    for (const [command, fields, status, says] of cases) {
      await apply(`args: ["${command}"]${fields}`);
      const { code, stdout, stderr } = await agent.command("trigger", "--wait", "job");
      assert.deepEqual([code, says.test(stdout + stderr)], [status, true], stdout + stderr);
    }
    const { stdout } = await agent.command("runs", "job");
    assert.match(stdout, /^RUN +STARTED +TOOK +STATUS +REASON +ENDED$/m);
    assert.match(stdout, /^1 +\S+Z +\d+s +0 +Completed +\d+s$/m);
    assert.match(stdout, /^3 +\S+Z +\d+s +143 \(SIGTERM\) +DeadlineExceeded +\d+s$/m);
    const { items } = JSON.parse((await agent.command("runs", "-o", "json", "job")).stdout);
    const logsOf = async (run: string) => (await agent.command("logs", "--run", run, "job")).stdout;
    assert.match(await logsOf("2"), /^run of exit 0$/m);
    assert.equal(await logsOf("4"), "run of kill -9 $$\n");
    assert.equal(await logsOf(items[0].startedAt), "run of exit 0\n");
    const unknown = await agent.command("logs", "--run", "99", "job");
    assert.match(unknown.stderr, /--run 99: 'nckubelet runs' lists runs 1 to \d+$/m);
    assert.match(
      (await agent.command("logs", "--run", "2001-01-01T00:00:00Z", "job")).stderr,
      /--run 2001-01-01T00:00:00Z: 'nckubelet runs' lists runs 1 to/,
    );
    assert.match(
      (await agent.command("logs", "--run", "last", "job")).stderr,
      /--run "last": use the number/,
    );
    assert.match(
      (await agent.command("logs", "--run", "1", "-f", "job")).stderr,
      /use --run or --follow, not both/,
    );
    assert.match(
      (await agent.command("logs", "--run", "1", "job", "web")).stderr,
      /--run chooses a run of one app/,
    );
    const reasons = items.map(({ reason }: { reason: string }) => reason);
    assert.deepEqual(reasons.slice(0, 3), ["Completed", "Completed", "DeadlineExceeded"]);
    assert.equal(new Set(items.map(({ id }: { id: string }) => id)).size, items.length);
    await apply(`args: ["exit 0"], successfulRunsHistoryLimit: 1`);
    const few = JSON.parse((await agent.command("runs", "-o", "json", "job")).stdout).items;
    assert.equal(few.filter(({ reason }: { reason: string }) => reason === "Completed").length, 1);
    await apply(`args: ["exit 0"], runAsUser: no-such-user`);
    const refused = await agent.command("trigger", "--wait", "job");
    assert.deepEqual([refused.code, refused.stderr.includes("no-such-user")], [1, true], refused.stderr);
    await agent.command("delete", "job");
    assert.match((await agent.command("runs", "web")).stdout, /Running/);
  });

  test("a rejected edit shows at its app, and a broken new file as a row, until they are repaired", async () => {
    await writeFile(join(manifests, "web.yaml"), manifest("web", script, ", cpuPCT: 200"));
    const row = async (name: string) =>
      (await agent.command("ps")).stdout.split("\n").find((line) => line.includes(` ${name} `)) ?? "";
    await waitFor("the edit is refused", async () => (await row("web")).includes("InvalidSpec"));
    assert.match(
      await row("web"),
      /Running +True .*web\.yaml:\d+: default\/web: spec\.cpuPCT: Invalid value: 200/,
    );
    assert.match(
      (await agent.command("describe", "web")).stdout,
      /^Message: +InvalidSpec: .*stays in force$/m,
    );
    await writeFile(join(manifests, "new.yaml"), manifest("new", script, ", cpuPTC: 20"));
    await writeFile(join(manifests, "torn.yaml"), "a: [");
    await waitFor("the broken files", async () => (await row("torn.yaml")).includes("Invalid"));
    assert.match(await row("new"), /^default +new +Invalid +False .*cpuPTC/);
    assert.match(
      (await agent.command("describe", "new")).stderr,
      /no app default\/new on this node: its manifest is invalid: .*cpuPTC/,
    );
    assert.ok(!(await agent.command("ps", "-o", "name")).stdout.includes("new"), "it is no app for programs");
    await writeFile(join(manifests, "web.yaml"), manifest("web", script));
    await waitFor("the edit is withdrawn", async () => !(await row("web")).includes("InvalidSpec"));
  });

  test("delete -f deletes the apps of a manifest, and nothing if it is broken", async () => {
    const file = join(temp.path, "two.yaml");
    await writeFile(join(temp.path, "bad.yaml"), manifest("a", "relative.sh"));
    assert.equal((await agent.command("delete", "-f", join(temp.path, "bad.yaml"))).code, 1);
    const deleted = await agent.command("delete", "-f", file);
    assert.deepEqual(deleted.stdout.trim().split("\n").sort(), [
      "default/a is deleted",
      "default/b is deleted",
    ]);
    assert.match((await agent.command("delete", "-f", file, "a")).stderr, /use -f or choose apps, not both/);
  });
});

test("logs are read from the files while no agent runs", async () => {
  using temp = tempFolder();
  const logDir = join(temp.path, "log");
  await mkdir(join(logDir, "default_web"), { recursive: true });
  await writeFile(firstPart(join(logDir, "default_web")), "one\ntwo\n");
  await using agent = await startTestAgent();
  const env = { NCKUBELET_SOCKET: join(temp.path, "none.sock"), NCKUBELET_LOG_DIR: logDir };
  const read = (...words: string[]) => agent.begin(["logs", ...words], { env }).done;
  const { code, stdout, stderr } = await read("--tail", "1", "web");
  assert.deepEqual([code, stdout], [0, "two\n"]);
  assert.match(stderr, /^nckubelet: no agent is running; reading .*default_web\/app\.log\n$/);
  assert.match((await read("other")).stderr, /no agent is running at/);
});

test("doctor asks the running agent first: a standalone one needs no API server, unless a flag names one", async () => {
  await using agent = await startTestAgent();
  const { stdout } = await agent.command("doctor");
  assert.match(stdout, /^WARN +agent +the agent runs version 0\.0\.0-test/m);
  assert.match(stdout, /^OK +api server +not used: the agent runs standalone$/m);
  assert.ok(stdout.includes(` free at ${agent.stateDir}`), stdout);
  const named = await agent.command("doctor", "--server", "http://127.0.0.1:9");
  assert.match(
    named.stdout,
    /^FAIL +api server +GET http:\/\/127\.0\.0\.1:9\/version: nothing listens there/m,
  );
});
