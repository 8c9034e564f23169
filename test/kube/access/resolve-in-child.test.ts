import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveInChild, writeResolution } from "../../../src/kube/access/resolve-in-child.ts";

const target = { context: "c", kind: "token", server: "https://k8s.test", files: [] };
const credentials = { headers: { authorization: "Bearer t" }, tls: { rejectUnauthorized: true } };
const first = JSON.stringify({ format: 1, value: target });
const second = JSON.stringify({ format: 1, value: credentials });

/** Runs a shell script as the child. */
const run = (
  script: string,
  { timeoutMs = 60_000, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
) => resolveInChild(["sh", "-c", script, "sh"], { env: { PATH: "/usr/bin:/bin" }, timeoutMs, signal });

test("writeResolution() writes what resolveInChild() reads", async () => {
  let text = "";
  await writeResolution(
    async () => ({ target, credentials: Promise.resolve(credentials) }),
    (line) => text += line,
  );
  const resolution = await run(`cat <<'END'\n${text}END`)({ rejected: false });
  assert.deepEqual([resolution.target, await resolution.credentials], [target, credentials]);
});

test("writeResolution() writes problems, of the kubeconfig and of the credential", async () => {
  let text = "";
  const write = (line: string) => text += line;
  await writeResolution(() => Promise.reject(new Error("config: no context")), write);
  assert.equal(text, '{"format":1,"problem":"config: no context"}\n');
  await assert.rejects(run(`echo '${text.trim()}'`)({ rejected: false }), /^Error: config: no context$/);
  text = "";
  await writeResolution(async () => ({ target, credentials: Promise.reject(new Error("log in")) }), write);
  const resolution = await run(`cat <<'END'\n${text}END`)({ rejected: false });
  await assert.rejects(resolution.credentials, /^Error: log in$/);
});

test("resolveInChild() knows the target while the credentials is still missing, and ends a child that hangs", async () => {
  const resolution = await run(`echo '${first}'; exec sleep 3600`, { timeoutMs: 500 })({ rejected: false });
  assert.equal(resolution.target.server, "https://k8s.test");
  await assert.rejects(resolution.credentials, /was killed, after 500 ms at the latest/);
});

test("resolveInChild() passes on a rejection", async () => {
  const script = `[ "$1" = --rejected ] || exit 7; echo '${first}'; echo '${second}'`;
  assert.ok((await run(script)({ rejected: true })).target);
  await assert.rejects(run(script)({ rejected: false }), /ended with code 7$/);
});

const children: [string, string, RegExp][] = [
  ["fails", "echo s3cret; echo 'out of memory' >&2; exit 3", /printed something else than its result/],
  ["fails silently", "echo 'out of memory' >&2; exit 3", /ended with code 3: out of memory$/],
  ["prints rubbish", "echo '{\"token\": s3cret'", /printed something else than its result/],
  [
    "is of a later version",
    `echo '{"format":2,"value":"s3cret"}'`,
    /if nckubelet was updated, restart this process/,
  ],
];

for (const [what, script, expected] of children) {
  test(`resolveInChild() reports a child that ${what}, without what it printed`, async () => {
    await assert.rejects(run(script)({ rejected: false }), (error: Error) => {
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
  });
}

test("resolveInChild() reports a program that is missing, and ends the child when the signal aborts", async () => {
  const missing = resolveInChild(["/nowhere/nckubelet"], { env: {} });
  await assert.rejects(missing({ rejected: false }), /cannot run: .*ENOENT/);
  const stopping = new AbortController();
  const resolution = await run(`echo '${first}'; exec sleep 3600`, { signal: stopping.signal })({
    rejected: false,
  });
  stopping.abort();
  await assert.rejects(resolution.credentials, /the process that reads the kubeconfig/);
});
