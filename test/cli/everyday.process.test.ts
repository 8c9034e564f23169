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
    assert.match((await agent.command("trigger", "web")).stderr, /default\/web has no schedule/);
    await agent.command("delete", "nightly-0", "nightly-3");
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
