import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { NCAppStatus } from "../../src/api/types.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { createHungMount, skipWithoutFuse } from "../harness/hung-mount.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const skip = skipWithoutFuse();
const script = "#!/bin/sh\nexec sleep 600\n";

function manifest(name: string, spec: object): string {
  const [apiVersion, kind] = ["app.example.com/v1alpha1", "NCApp"];
  return JSON.stringify({ apiVersion, kind, metadata: { name }, spec: { backoffSeconds: 1, ...spec } });
}

/**
 * The status of an app, once it satisfies the condition. It comes from the agent itself: the record on disk may follow a period
 * later.
 */
function reach(
  agent: AgentProcess,
  name: string,
  wanted: (status: NCAppStatus) => boolean,
): Promise<NCAppStatus> {
  let last: NCAppStatus | undefined;
  return waitFor(`${name} changes as expected`, async () => {
    const signal = AbortSignal.timeout(60_000);
    const answer = await fetch(`${agent.url}/apps/default/${name}`, { signal });
    last = (await answer.json() as { status?: NCAppStatus }).status;
    return last && wanted(last) ? last : undefined;
  }).catch((error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(last)}`);
  });
}

const isRunning = ({ phase, pid }: NCAppStatus) => phase === "Running" && pid !== undefined;
const isWaiting = ({ phase, reason }: NCAppStatus) => phase === "Pending" && reason === "FileTimeout";

test(
  "apps and manifests on a mount that hangs delay no other app, and start when it answers",
  { skip },
  async () => {
    using temp = tempFolder();
    await using mount = await createHungMount(temp.path);
    const local = join(temp.path, "local.sh");
    await mkdir(join(mount.behind, "manifests"));
    await writeFile(join(mount.behind, "manifests", "listed.yaml"), manifest("listed", { shellFile: local }));
    for (const path of [local, join(mount.behind, "app.sh")]) await writeFile(path, script, { mode: 0o755 });
    await mount.hang();
    await using agent = await startAgentProcess([
      "--standalone",
      "--manifests",
      join(mount.path, "manifests"),
    ]);
    const onMount = Array.from({ length: 20 }, (_, i) => `app-${i}`);
    const specOf = (i: number) =>
      i % 2 ? { shellFile: local, workingDir: mount.path } : { shellFile: join(mount.path, "app.sh") };
    const apps = join(temp.path, "apps.yaml");
    await writeFile(
      apps,
      [...onMount.map((name, i) => manifest(name, specOf(i))), manifest("healthy", { shellFile: local })]
        .join(
          "\n---\n",
        ),
    );
    const applied = await agent.command("apply", "--socket", agent.socket, "-f", apps);
    assert.equal(applied.code, 0, applied.stderr);

    const first = await reach(agent, "healthy", isRunning);
    process.kill(first.pid!, "SIGKILL");
    await reach(agent, "healthy", ({ lastExit }) => lastExit !== undefined);
    for (const [i, name] of onMount.entries()) {
      const { message } = await reach(agent, name, isWaiting);
      assert.match(
        message!,
        i % 2 ? /^spec\.workingDir: ".*mount": no answer/ : /^spec\.shellFile: ".*app\.sh": no/,
      );
    }
    await reach(agent, "healthy", (status) => isRunning(status) && status.restarts === 1);
    const ready = await fetch(`${agent.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(
      await ready.text(),
      /source-manifests failed: .*mount\/manifests: no answer from its file system within 5 s/,
    );

    mount.answer();
    await Promise.all(["listed", ...onMount].map((name) => reach(agent, name, isRunning)));
  },
);

test("an agent with its logs on a mount that hangs starts and ends, and runs its apps when it answers", {
  skip,
}, async () => {
  using temp = tempFolder();
  await using mount = await createHungMount(temp.path);
  const local = join(temp.path, "local.sh");
  await writeFile(local, script, { mode: 0o755 });
  const manifests = join(temp.path, "manifests");
  await mkdir(manifests);
  await writeFile(join(manifests, "one.yaml"), manifest("one", { shellFile: local }));
  await mount.hang();
  await using agent = await startAgentProcess([
    ...["--standalone", "--manifests", manifests],
    ...["--log-dir", join(mount.path, "logs")],
  ]);
  const { message } = await reach(agent, "one", isWaiting);
  assert.match(message!, /mount\/logs\/default_one: no answer from its file system within 5 s; next try at /);
  mount.answer();
  const { pid } = await reach(agent, "one", isRunning);

  await mount.hang();
  process.kill(pid!, "SIGKILL");
  await reach(agent, "one", ({ lastExit }) => lastExit !== undefined);
  await reach(agent, "one", isWaiting);
  assert.equal((await fetch(`${agent.url}/healthz`)).status, 200);
  // Deno has no status of a child that it has sent a signal to.
  assert.ok([0, null].includes(await agent.kill("SIGTERM")));
});

test("an app with output for a log that hangs stops, although nobody can copy it", { skip }, async () => {
  using temp = tempFolder();
  await using mount = await createHungMount(temp.path);
  const [local, go, wrote] = ["local.sh", "go", "wrote"].map((name) => join(temp.path, name));
  const body = `#!/bin/sh\nuntil [ -e ${go} ]; do sleep 0.05; done\necho line\n: >${wrote}\nexec sleep 600\n`;
  await writeFile(local!, body, { mode: 0o755 });
  const manifests = join(temp.path, "manifests");
  await mkdir(manifests);
  const app = join(manifests, "one.yaml");
  const spec = { shellFile: local, terminationGracePeriodSeconds: 1 };
  await writeFile(app, manifest("one", spec));
  await using agent = await startAgentProcess([
    ...["--standalone", "--manifests", manifests],
    ...["--log-dir", join(mount.path, "logs")],
  ]);
  const { pid: script } = await reach(agent, "one", isRunning);
  const { parent: launcher } = readStat(script!)!;
  await mount.hang();
  await writeFile(go!, "");
  await waitFor("the app does not wait for its log", () => existsSync(wrote!));
  await writeFile(app, manifest("one", { ...spec, suspend: true }));
  await reach(agent, "one", ({ phase, pid }) => phase === "Stopped" && pid === undefined);
  for (const pid of [script!, launcher]) {
    await waitFor("its processes are gone", () => readStat(pid) === undefined);
  }
  mount.answer();
});
