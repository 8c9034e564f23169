import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";
import { startTestAgent, type TestAgent } from "../test-agent.ts";

async function applyApp(agent: TestAgent, name: string, shellFile: string, spec: object): Promise<void> {
  const file = join(agent.folder, `${name}.json`);
  const app = {
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: { name },
    spec: { shellFile, terminationGracePeriodSeconds: 1, ...spec },
  };
  await writeFile(file, JSON.stringify(app));
  const { code, stderr } = await agent.command("apply", "-f", file, "--wait");
  assert.equal(code, 0, stderr);
}

const logOf = async (agent: TestAgent, app: string) => (await agent.command("logs", app)).stdout;
const pidOf = async (agent: TestAgent, app: string) =>
  JSON.parse((await agent.command("ps", app, "-o", "json")).stdout).items[0].status.pid;

test("reload sends reloadSignal to the main process, and the app runs on", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script(
    "web.sh",
    "trap 'echo got HUP' HUP; sh -c 'trap \"echo child HUP\" HUP; while :; do sleep 0.1; done' & while :; do sleep 0.1; done",
  );
  await applyApp(agent, "web", script, { reloadSignal: "SIGHUP" });
  const pid = await pidOf(agent, "web");
  const { code, stdout } = await agent.command("reload", "web");
  assert.deepEqual([code, stdout], [0, "default/web is reloaded\n"]);
  await waitFor("the signal arrives", async () => (await logOf(agent, "web")).includes("got HUP"));
  assert.doesNotMatch(await logOf(agent, "web"), /child HUP/);
  assert.equal(await pidOf(agent, "web"), pid);
  assert.match(
    (await agent.command("describe", "web")).stdout,
    new RegExp(`Reloaded .* Sent SIGHUP to process ${pid}`),
  );
});

test("reload runs reloadCommand beside the app, with its environment and $NCAPP_PID, and reports its end", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script("web.sh", "exec sleep 600");
  const reload = await agent.script(
    "reload.sh",
    'echo "reloading $NCAPP_PID for $WHO in $PWD"; exit ${1:-0}',
  );
  const shared = { env: [{ name: "WHO", value: "me" }], workingDir: agent.folder };
  await applyApp(agent, "web", script, { ...shared, reloadCommand: [reload] });
  const pid = await pidOf(agent, "web");
  assert.equal((await agent.command("reload", "web")).code, 0);
  const line = `reloading ${pid} for me in ${agent.folder}`;
  await waitFor("its output is in the log", async () => (await logOf(agent, "web")).includes(line));

  // Live: the edit does not restart the app.
  await applyApp(agent, "web", script, { ...shared, reloadCommand: [reload, "3"] });
  const failed = await agent.command("reload", "web");
  assert.equal(failed.code, 1);
  assert.match(
    failed.stderr,
    /default\/web was not reloaded: spec.reloadCommand: ".*reload.sh" ended with status 3/,
  );
  assert.match((await agent.command("events", "web")).stdout, /ReloadFailed .* ended with status 3/);
  await applyApp(agent, "web", script, { ...shared, reloadCommand: ["/no/such/command"] });
  assert.match(
    (await agent.command("reload", "web")).stderr,
    /spec.reloadCommand: "\/no\/such\/command": cannot execute .*not found/,
  );
  assert.equal(await pidOf(agent, "web"), pid);
});

test("reload refuses an app that cannot be reloaded, and says what to do", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script("web.sh", "exec sleep 600");
  await applyApp(agent, "plain", script, {});
  assert.match(
    (await agent.command("reload", "plain")).stderr,
    /default\/plain has neither spec.reloadSignal nor spec.reloadCommand: set one, or use 'nckubelet restart plain'/,
  );
  await applyApp(agent, "web", script, { reloadSignal: "SIGHUP" });
  await agent.command("stop", "web");
  assert.match(
    (await agent.command("reload", "web")).stderr,
    /default\/web is Stopped, not running: there is nothing to reload/,
  );
  assert.match(
    (await agent.command("reload", "wep")).stderr,
    /no app default\/wep on this node; did you mean default\/web\?/,
  );
});
