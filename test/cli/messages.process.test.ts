import assert from "node:assert/strict";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startTestAgent, type TestAgent } from "./test-agent.ts";

describe("messages of commands", () => {
  const temp = tempFolder();
  const manifests = join(temp.path, "manifests");
  let agent: TestAgent;
  let script: string;

  before(async () => {
    await mkdir(manifests);
    agent = await startTestAgent({ manifests, enforce: "best-effort" });
    script = await agent.script("forever.sh", "exec sleep 600");
  });
  after(async () => {
    await agent[Symbol.asyncDispose]();
    temp.remove();
  });

  const manifest = (name: string, spec: object) =>
    JSON.stringify({
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name },
      spec: { shellFile: script, terminationGracePeriodSeconds: 1, ...spec },
    });
  const apply = async (name: string, spec: object, ...flags: string[]) => {
    const file = join(temp.path, `${name}.json`);
    await writeFile(file, manifest(name, spec));
    return await agent.command("apply", "-f", file, ...flags);
  };
  const rowOf = async (name: string, phase = "") =>
    (await agent.command("ps")).stdout.split("\n").find((row) =>
      row.includes(` ${name} `) && row.includes(phase)
    ) ?? "";
  const statusOf = async (name: string) =>
    JSON.parse((await agent.command("ps", name, "-o", "json")).stdout).items[0].status;

  test("why an app is not ready is in apply --wait, in ps and in the Ready condition", async () => {
    const readinessProbe = {
      exec: { command: ["sh", "-c", "echo no database; exit 3"] },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    const { code, stderr } = await apply("unready", { readinessProbe }, "--wait", "--timeout", "3s");
    assert.equal(code, 1);
    const why = /Readiness probe failed: no database/;
    assert.match(stderr, /default\/unready is running \(pid \d+\), but not ready after 3 s: /);
    assert.match(stderr, why);
    assert.match(await rowOf("unready"), why);
    const ready = (await statusOf("unready")).conditions.find(({ type }: { type: string }) =>
      type === "Ready"
    );
    assert.deepEqual([ready.status, ready.reason], ["False", "Unhealthy"]);
    assert.match(ready.message, why);
    await apply("waiting", { startupProbe: { exec: { command: ["true"] }, initialDelaySeconds: 600 } });
    await waitFor("it runs", async () => /Running/.test(await rowOf("waiting")));
    assert.match(await rowOf("waiting"), /the startup probe has not passed yet/);
  });

  test("ps says where caps are not enforced", async () => {
    await apply("capped", { cpuPCT: "20" }, "--wait");
    await waitFor("the caps are checked", async () => /caps are not enforced: /.test(await rowOf("capped")));
  });

  test("two manifests of one app show in ps, and diff compares an app of the folder", async () => {
    await writeFile(join(manifests, "a.json"), manifest("twice", {}));
    await writeFile(join(manifests, "b.json"), manifest("twice", { args: ["b"] }));
    await waitFor("both are seen", async () => (await rowOf("twice", "Ignored")) !== "");
    assert.match(
      await rowOf("twice", "Ignored"),
      /default\/twice is defined by manifests \(.*a\.json\) and by manifests \(.*b\.json\): the first one wins/,
    );
    await waitFor("it runs", async () => (await rowOf("twice", "Running")) !== "");
    const same = await agent.command("diff", "-f", join(manifests, "a.json"));
    assert.deepEqual([same.code, same.stdout, same.stderr], [0, "", ""]);
    const { code, stdout } = await agent.command("diff", "-f", join(manifests, "b.json"));
    assert.equal(code, 1);
    assert.match(stdout, /^\+ {2}args:\n\+ {4}- b$/m);
    assert.match(
      stdout,
      /\(default\/twice would restart\)\n\(default\/twice comes from manifests: change it in .*a\.json\)/,
    );
    // Applying is refused, also for a dry run.
    for (const flags of [[], ["--dry-run"]]) {
      const refused = await agent.command("apply", "-f", join(manifests, "b.json"), ...flags);
      assert.match(refused.stderr, /default\/twice was not applied: default\/twice comes from manifests/);
      assert.equal(refused.code, 1);
    }
  });

  test("run --attach exits with the status of the script", async () => {
    for (const [end, status] of [["exit 3", 3], ["kill -9 $$", 137], ["exit 0", 0]] as const) {
      const ending = await agent.script(`ending${status}.sh`, `echo out; ${end}`);
      const { code, stdout } = await agent.command("run", ending, "--restart", "never", "--attach");
      assert.deepEqual([code, stdout], [status, "out\n"]);
    }
  });

  test("run --rm attaches and leaves nothing behind; run --replace removes what was there", async () => {
    const once = await agent.script("once.sh", "echo out; exit 4");
    const removed = await agent.command("run", once, "--rm");
    assert.deepEqual([removed.code, removed.stdout], [4, "out\n"]);
    assert.equal(await rowOf("once"), "");
    assert.match(
      (await agent.command("run", once, "--rm", "--restart", "always")).stderr,
      /--restart always prevents/,
    );

    const first = await agent.command("run", script, "--name", "again");
    assert.equal(first.code, 0);
    const { pid } = await statusOf("again");
    assert.match(
      (await agent.command("run", script, "--name", "again")).stderr,
      /exists already: .* replace it with --replace/,
    );
    assert.equal((await agent.command("run", script, "--name", "again", "--replace")).code, 0);
    assert.notEqual((await statusOf("again")).pid, pid);
    // The app of another source is not replaced.
    assert.match(
      (await agent.command("run", script, "--name", "twice", "--replace")).stderr,
      /default\/twice comes from manifests: change it in/,
    );
  });

  test("the last exit has lines of the last run only", async () => {
    const flag = join(temp.path, "quiet");
    const noisy = await agent.script("noisy.sh", `[ -e ${flag} ] || echo old line; exit 1`);
    await agent.command("run", noisy, "--restart", "never", "--keep");
    const exit = await waitFor("the first run has ended", async () => (await statusOf("noisy")).lastExit);
    assert.equal(exit.message, "old line");
    await writeFile(flag, "");
    await agent.command("restart", "noisy");
    await waitFor("the second run has ended", async () => (await statusOf("noisy")).recentRuns?.length === 2);
    assert.equal((await statusOf("noisy")).lastExit.message ?? "", "");
  });

  test("exec into an app that waits for its schedule says how to run it now", async () => {
    await apply("nightly", { schedule: "0 3 * * *" });
    await waitFor("it waits", async () => /next run at/.test(await rowOf("nightly")));
    const { stderr } = await agent.command("exec", "nightly", "--", "true");
    assert.match(
      stderr,
      /is Pending \(next run at .*\), not running; 'nckubelet trigger nightly' runs it now/,
    );
  });

  test("a link that leads nowhere is named as such", async () => {
    const link = join(temp.path, "link.sh");
    await symlink("/no/such/script.sh", link);
    assert.match(
      (await agent.command("run", link)).stderr,
      /link\.sh: is a link to \/no\/such\/script\.sh, which does not exist\n/,
    );
    const file = join(manifests, "link.yaml");
    await symlink("/no/such.yaml", file);
    assert.match(
      (await agent.command("apply", "-f", file)).stderr,
      /link\.yaml: is a link to \/no\/such\.yaml, which does not exist/,
    );
    await waitFor("ps shows it", async () => /is a link to \/no\/such\.yaml/.test(await rowOf("link.yaml")));
    await rm(file);
  });

  test("a log folder that cannot be created is named with its flag", async () => {
    const folders = ["--state-dir", join(temp.path, "other"), "--log-dir", "/proc/none"];
    const quiet = [
      "--standalone",
      "--listen",
      "",
      "--socket",
      join(temp.path, "other.sock"),
      "--cgroup-root",
      "none",
    ];
    const { code, stderr } = await agent.command("agent", ...folders, ...quiet);
    assert.equal(code, 1);
    assert.match(stderr, /nckubelet: --log-dir \/proc\/none: no folder can be created there/);
  });

  test("--grace says how long it may be", async () => {
    for (const grace of ["100000", "99999999999999999999"]) {
      const { stderr } = await agent.command("run", script, "--grace", grace);
      assert.match(stderr, /--grace "\d+": use a whole number from 0 to 86400/);
    }
  });
});
