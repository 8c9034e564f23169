import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import type { NCApp } from "../../../src/api/types.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { manifest } from "../../builders.ts";
import { startLocalAgent } from "../local-agent.ts";

const isRunning = ({ status }: NCApp) => status?.phase === "Running";
const isStopped = ({ status }: NCApp) => status?.phase === "Stopped" && status.reason === "StoppedByOperator";
const sleeping = "echo up\nexec sleep 600";
const quick = { terminationGracePeriodSeconds: 1 };

test("an app that is put runs, outlives the agent with its process, and goes when it is deleted", async () => {
  await using agent = await startLocalAgent();
  const shellFile = await agent.script("web.sh", sleeping);
  const answer = await agent.put("web", { shellFile, ...quick });
  assert.equal(answer.status, 201);
  const pid = (await agent.reach("web", "Running", isRunning)).status?.pid;
  await agent.replace();
  const adopted = await agent.reach("web", "Running", isRunning);
  assert.equal(adopted.status?.pid, pid);
  assert.equal((await agent.ask("POST", "/apps/default/web/restart")).status, 200);
  const again = await agent.reach("web", "another", (app) => isRunning(app) && app.status?.pid !== pid);
  assert.equal(again.metadata.generation, adopted.metadata.generation, "orders change no spec");
  assert.equal((await agent.ask("DELETE", "/apps/default/web")).status, 200);
  await waitFor("it is gone", async () => await agent.get("web") === undefined);
  await agent.replace();
  assert.equal(await agent.get("web"), undefined);
});

test("a watch over the socket follows the life of an app, and ends with the agent", async () => {
  await using agent = await startLocalAgent();
  const call = request({ socketPath: agent.options.socket, path: "/apps?watch=true", agent: false }).end();
  const [response] = await once(call, "response") as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  let text = "";
  response.setEncoding("utf8").on("data", (chunk) => text += chunk).on("error", () => {});
  const lines = () =>
    text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as { type: string; object: NCApp });
  const shellFile = await agent.script("web.sh", sleeping);
  await agent.put("web", { shellFile, ...quick });
  await waitFor("it is seen running", () => lines().some(({ object }) => isRunning(object)));
  await agent.ask("DELETE", "/apps/default/web");
  await waitFor("it is seen gone", () => lines().some(({ type }) => type === "DELETED"));
  const types = lines().map(({ type }) => type);
  assert.deepEqual([types[0], types.at(-1)], ["ADDED", "DELETED"]);
  assert.ok(types.slice(1, -1).every((type) => type === "MODIFIED"), types.join());
  const ended = new Promise((resolve) => response.on("close", resolve));
  await agent.replace();
  await ended;
});

test("an app whose source is no longer followed keeps running, is reported, and can be deleted", async () => {
  using temp = tempFolder();
  const manifests = temp.path;
  await using agent = await startLocalAgent({ manifests });
  const shellFile = await agent.script("web.sh", sleeping);
  await writeFile(join(manifests, "web.json"), JSON.stringify(manifest("web", { shellFile, ...quick })));
  const pid = (await agent.reach("web", "Running", isRunning)).status?.pid;
  delete agent.options.manifests;
  await agent.replace(async () => temp.remove());
  assert.equal((await agent.reach("web", "Running", isRunning)).status?.pid, pid);
  const { problems } = JSON.parse((await agent.ask("GET", "/status")).text);
  assert.match(problems[0].message, /^default\/web came from manifests.*nckubelet delete web/);
  assert.equal((await agent.ask("POST", "/apps/default/web/restart")).status, 200);
  await agent.reach("web", "another process", (app) => isRunning(app) && app.status?.pid !== pid);
  assert.equal((await agent.ask("DELETE", "/apps/default/web")).status, 200);
  await waitFor("it is gone", async () => await agent.get("web") === undefined);
});

test("an app that was suspended by its spec is started by a change of the spec, which only its source may make", async () => {
  await using agent = await startLocalAgent();
  const shellFile = await agent.script("web.sh", sleeping);
  await agent.put("web", { shellFile, suspend: true, ...quick });
  await agent.reach("web", "Stopped", ({ status }) => status?.phase === "Stopped");
  await agent.ask("POST", "/apps/default/web/start");
  assert.equal((await agent.reach("web", "Running", isRunning)).spec.suspend, false);
  const manifests = agent.options.manifests = join(agent.folder, "manifests");
  await mkdir(manifests);
  const file = JSON.stringify(manifest("idle", { shellFile, suspend: true }));
  await writeFile(join(manifests, "idle.json"), file);
  await agent.replace();
  await agent.reach("idle", "Stopped", ({ status }) => status?.reason === "Suspended");
  const { status, text } = await agent.ask("POST", "/apps/default/idle/start");
  assert.equal(status, 409);
  assert.match(
    JSON.parse(text).message,
    /^spec\.suspend is true: default\/idle comes from manifests: change it in .*idle\.json/,
  );
});

test("an app of a manifest can be stopped, started and restarted; a changed spec is 409 and names its file", async () => {
  await using agent = await startLocalAgent();
  const manifests = join(agent.folder, "manifests");
  await mkdir(manifests);
  const shellFile = await agent.script("web.sh", sleeping);
  await writeFile(join(manifests, "web.json"), JSON.stringify(manifest("web", { shellFile, ...quick })));
  agent.options.manifests = manifests;
  await agent.replace();
  const first = (await agent.reach("web", "Running", isRunning)).status?.pid;
  await agent.ask("POST", "/apps/default/web/restart");
  await agent.reach("web", "another process", (app) => isRunning(app) && app.status?.pid !== first);
  await agent.ask("POST", "/apps/default/web/stop");
  const stopped = await agent.reach("web", "Stopped", isStopped);
  assert.match(
    stopped.status?.message ?? "",
    /^stopped with 'nckubelet stop' at \S+Z; 'nckubelet start web' starts it again$/,
  );
  const edited = manifest("web", { shellFile, args: ["edited"], ...quick });
  await agent.replace(() => writeFile(join(manifests, "web.json"), JSON.stringify(edited)));
  await agent.reach(
    "web",
    "edited and still stopped",
    (app) => isStopped(app) && app.spec.args?.length === 1,
  );
  await agent.ask("POST", "/apps/default/web/start");
  await agent.reach("web", "Running", isRunning);
  for (
    const [method, path, body] of [
      ["PUT", "", manifest("web", { shellFile })],
      ["DELETE", ""],
    ] as const
  ) {
    const { status, text } = await agent.ask(method, `/apps/default/web${path}`, body);
    assert.equal(status, 409, `${method} ${path}`);
    assert.match(JSON.parse(text).message, /default\/web comes from manifests: change it in .*web\.json/);
  }
});

test("an unknown app is 404, and --max-apps is 403 for the one too many", async () => {
  await using agent = await startLocalAgent({ maxApps: 1 });
  for (const verb of ["restart", "stop", "start", "trigger", "undo"]) {
    assert.equal((await agent.ask("POST", `/apps/default/nobody/${verb}`)).status, 404);
  }
  assert.equal((await agent.ask("DELETE", "/apps/default/nobody")).status, 404);
  assert.equal((await agent.put("one", {})).status, 201);
  const { status, text } = await agent.put("two", {});
  assert.equal(status, 403);
  assert.match(JSON.parse(text).message, /1 apps.*--max-apps/);
  assert.equal((await agent.put("one", { cpuPCT: 5 })).status, 200);
});

test("a broken file in the state leaves its app running, and its problem in /status", async () => {
  await using agent = await startLocalAgent();
  const shellFile = await agent.script("web.sh", sleeping);
  await agent.put("web", { shellFile, ...quick });
  const pid = (await agent.reach("web", "Running", isRunning)).status?.pid;
  const file = join(agent.options.stateDir, "socket-apps/default_web.json");
  await agent.replace(() => writeFile(file, "{"));
  const problems = await waitFor("the problem is shown", async () => {
    const status = JSON.parse((await agent.ask("GET", "/status")).text);
    return status.problems.length > 0 && status.problems;
  });
  assert.match(problems[0].message, /default_web\.json/);
  assert.equal((await agent.get("web"))?.status?.pid, pid);
  assert.equal((await agent.put("web", { shellFile, ...quick })).status, 200);
  assert.equal(JSON.parse((await agent.ask("GET", "/status")).text).problems.length, 0);
  assert.equal((await agent.get("web"))?.status?.pid, pid);
});

test("a body of 100 MB is refused before it is sent where it is announced, else once it is over 1 MiB", async () => {
  await using agent = await startLocalAgent();
  const head = "PUT /apps/default/web HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
  const requests = {
    announced: `${head}content-length: 100000000\r\n\r\n`,
    endless: `${head}transfer-encoding: chunked\r\n\r\n100001\r\n${" ".repeat(0x100001)}\r\n`,
  };
  for (const [what, request] of Object.entries(requests)) {
    const socket = connect(agent.options.socket).on("error", () => {});
    let answer = "";
    socket.setEncoding("utf8").on("data", (text) => answer += text);
    socket.write(request);
    await waitFor(`the ${what} one is answered and its connection ended`, () => socket.closed);
    assert.match(answer, /^HTTP\/1\.1 413 [^]*"code":413/);
  }
  assert.equal((await agent.ask("GET", "/healthz")).text, "ok");
});

const isRoot = process.getuid?.() === 0 && !("deno" in process.versions);

test("another user of the machine gets nothing through the socket", {
  skip: !isRoot && "only root can be another user",
}, async () => {
  await using agent = await startLocalAgent();
  await chmod(agent.folder, 0o755);
  const code =
    `require("net").connect(process.argv[1]).on("connect", () => { console.log("let in"); process.exit(); }).on("error", (error) => console.log(error.code))`;
  // A copy that other users can run: the checkout may be in a private folder.
  const node = join(agent.folder, "node");
  await copyFile(process.execPath, node);
  const asUser = (user: string) =>
    promisify(execFile)("setpriv", [
      `--reuid=${user}`,
      "--clear-groups",
      node,
      "-e",
      code,
      agent.options.socket,
    ], { timeout: 20_000 });
  assert.equal((await asUser("nobody")).stdout, "EACCES\n");
  assert.match((await asUser("root")).stdout, /^let in/);
});
