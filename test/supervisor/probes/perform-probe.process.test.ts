import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { keyOf } from "../../../src/api/names.ts";
import type { DefaultedProbe } from "../../../src/api/types.ts";
import { createAppProber } from "../../../src/supervisor/probes/probes.ts";
import { saveRunContext } from "../../../src/supervisor/run/run.ts";
import { runFolder } from "../../../src/supervisor/layout.ts";
import { performProbe } from "../../../src/supervisor/probes/perform-probe.ts";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { fakeLauncher } from "../../fake-launcher.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { appWith, recordWith, runOf } from "../fixtures.ts";

const entrance = async () => entranceOf(await builtLauncher());

const probe: DefaultedProbe = {
  exec: { command: ["true"] },
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 60,
  successThreshold: 1,
  failureThreshold: 1,
};

async function enterable() {
  const temp = tempFolder();
  const folder = temp.path;
  const environment = join(folder, "environment");
  await writeFile(environment, "");
  saveRunContext(folder, { leaf: "", user: "", workingDir: "/", environment });
  return { folder, environment, [Symbol.dispose]: temp.remove };
}

test("the exit code of a command decides, and a lost environment is the app's failure, since a restart fixes it", async () => {
  await using run = await enterable();
  const ask = async (command: string[]) =>
    await performProbe({ ...probe, exec: { command } }, {
      ports: undefined,
      runFolder: run.folder,
      launcher: await entrance(),
    });
  assert.deepEqual(await ask(["echo", "fine"]), { ok: true, message: "fine" });
  assert.deepEqual(await ask(["false"]), { ok: false, message: 'command "false" ended with status 1' });
  await rm(run.environment);
  const { ok, message } = await ask(["true"]);
  assert.equal(ok, false);
  assert.match(message, /cannot read the environment .*ENOENT; restart the app to write it again/);
});

test("a cgroup that cannot be entered throws: it says nothing about the app", async () => {
  await using run = await enterable();
  await rm(join(run.folder, "inside.json"));
  const leaf = join("/none", basename(run.folder));
  saveRunContext(run.folder, {
    leaf,
    user: "",
    workingDir: "/",
    environment: run.environment,
  });
  const asked = performProbe(probe, { ports: undefined, runFolder: run.folder, launcher: await entrance() });
  await assert.rejects(asked, { message: `cannot enter ${leaf}: No such file or directory` });
});

test("a command that cannot be executed throws, with a hint at a command line in one word; one that ends with 127 fails", async () => {
  await using run = await enterable();
  const launcher = await entrance();
  const ask = (...command: string[]) =>
    performProbe({ ...probe, exec: { command } }, { ports: undefined, runFolder: run.folder, launcher });
  await assert.rejects(ask("/no/such check", "--fast"), {
    message: "cannot execute /no/such check: not found",
  });
  await assert.rejects(ask("curl -f localhost"), {
    message: "cannot execute curl -f localhost: not found; each word is an item of its own: " +
      'command: ["curl","-f","localhost"], or ["sh","-c","curl -f localhost"]',
  });
  assert.equal((await ask("sh", "-c", "no-such-program; exit 127")).ok, false);
});

test("an unreadable inside.json throws: it says nothing about the app", async () => {
  await using run = await enterable();
  await rm(join(run.folder, "inside.json"));
  await mkdir(join(run.folder, "inside.json"));
  await assert.rejects(
    performProbe(probe, { ports: undefined, runFolder: run.folder, launcher: await entrance() }),
    /EISDIR/,
  );
});

test("an agent that is out of descriptors throws and blames no app", async () => {
  await using run = await enterable();
  const server = createServer((_request, response) => void response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const runtime = "deno" in process.versions ? ["run", "-A", "--no-check"] : [];
  const script = fileURLToPath(new URL("without-descriptors.ts", import.meta.url));
  const child = [process.execPath, ...runtime, script, run.folder, String(port), await builtLauncher()];
  try {
    const { stdout } = await promisify(execFile)("/bin/sh", [
      "-c",
      'ulimit -n 256; exec "$@"',
      "sh",
      ...child,
    ]);
    const { before, without } = JSON.parse(stdout);
    assert.deepEqual(before, ["true", "true", "true"]);
    for (const outcome of without) assert.match(outcome, /^thrown: .*(EMFILE|Too many open files)/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test("a probe that ended with its run is reported neither for the app nor for the next run", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
  const app = appWith({ livenessProbe: { exec: { command: ["true"] }, failureThreshold: 1 } });
  const probed = recordWith({ app, phase: "Running", run: runOf(app) });
  const later = recordWith({ app, phase: "Starting", run: runOf(app, { id: "run-2" }) });
  // No process can enter these runs, so every probe fails.
  await mkdir(runFolder(layout, "run-1"), { recursive: true });
  for (const [now, reports] of [[probed, 1], [later, 0], [recordWith({ app }), 0]] as const) {
    const [failed, unhealthy]: string[][] = [[], []];
    const prober = createAppProber({
      layout,
      launcher: fakeLauncher,
      find: () => ({ record: now, failProbe: (runId) => failed!.push(runId), setProbeState: () => {} }),
      onUnhealthy: (_key, message) => unhealthy!.push(message),
    });
    prober.follow(probed);
    await waitFor("the probe's failure", () => failed!.length > 0, 10_000).finally(() => prober.close());
    assert.deepEqual([failed, unhealthy!.length], [["run-1"], reports]);
    const key = keyOf(app);
    assert.deepEqual(prober.failures(key), reports ? { liveness: reports } : undefined);
    prober.forget(key);
    assert.equal(prober.failures(key), undefined);
  }
});
