import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createLocalToken } from "../../../src/server/listen/listen.ts";
import { call } from "../../cli/call.ts";
import { createTestLog } from "../../report/test-log.ts";
import { tempFolder } from "../../temp-folder.ts";
import { startLocalAgent } from "../local-agent.ts";

const closed = [
  "/status",
  "/apps",
  "/apps?watch=true",
  "/apps/default/web",
  "/apps/default/web/logs",
  "/history",
];
const open = ["/", "/dashboard.js", "/healthz", "/livez", "/readyz", "/metrics", "/stats/summary"];

test("on loopback a local user reads health and metrics, and apps and logs only with the token", async () => {
  await using agent = await startLocalAgent({ openLoopback: false });
  const shellFile = await agent.script("web.sh", "echo secret line\nexec sleep 600");
  await agent.put("web", { shellFile, args: ["--password=hunter2"], terminationGracePeriodSeconds: 1 });
  await agent.reach("web", "Running", ({ status }) => status?.phase === "Running");
  const ask = async (path: string, token?: string) => {
    const stop = new AbortController();
    const headers = { ...(token && { authorization: `Bearer ${token}` }) };
    const answer = await fetch(`${agent.url()}${path}`, { headers, signal: stop.signal });
    if (answer.ok && path.includes("watch")) return stop.abort(), { status: 200, text: "" };
    return { status: answer.status, text: await answer.text() };
  };
  for (const path of closed) {
    const { status, text } = await ask(path);
    assert.equal(status, 401, path);
    assert.match(text, /a bearer token is required; 'nckubelet dashboard' prints a link/);
    assert.equal((await ask(path, "a-token-that-is-not-the-one")).status, 401, path);
  }
  for (const path of open) {
    const { status, text } = await ask(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /hunter2|secret line/, path);
  }

  const file = join(agent.options.stateDir, "token");
  assert.equal((await stat(file)).mode & 0o777, 0o640);
  const token = (await readFile(file, "utf8")).trim();
  for (const path of closed) assert.equal((await ask(path, token)).status, 200, path);
  const { stdout } = await call(["dashboard", "--socket", agent.options.socket]).done;
  assert.equal(stdout, `${agent.url()}/#token=${token}\n`);

  // A process that took the port meanwhile may have seen the old one.
  await agent.replace();
  assert.equal((await ask("/apps", token)).status, 401);
  assert.equal((await ask("/apps", (await readFile(file, "utf8")).trim())).status, 200);
});

test("nckubelet dashboard says why there is no link", async () => {
  await using agent = await startLocalAgent({ listen: "" });
  const { code, stderr } = await call(["dashboard", "--socket", agent.options.socket]).done;
  assert.equal(code, 1);
  assert.match(stderr, /the agent serves no loopback address: set --listen/);
});

test("a token that cannot be written works without its file, and a file with another mode is replaced", async () => {
  using temp = tempFolder();
  const log = createTestLog();
  const { token, authorize } = await createLocalToken(join(temp.path, "missing/token"), log);
  assert.deepEqual(log.lines, ["warn cannot write the token for loopback; 'nckubelet dashboard' prints it"]);
  assert.deepEqual([await authorize(token, "proxy"), await authorize(`${token}x`, "proxy")], [
    "allowed",
    "unknown",
  ]);
  const path = join(temp.path, "token");
  await writeFile(path, "old");
  await chmod(path, 0o666);
  const next = await createLocalToken(path, log);
  assert.equal((await stat(path)).mode & 0o777, 0o640);
  assert.notEqual(next.token, token);
});
