import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { joinCommand, joinedSettings } from "../../src/cli/join.ts";

async function createNode(t: TestContext) {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ gitVersion: "v1.30.1", minor: "30" }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const dir = await mkdtemp(join(tmpdir(), "nckubelet-join-"));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(dir, { recursive: true, force: true });
  });
  const config = join(dir, "config.yaml");
  await writeFile(config, "standalone: true\nlog-level: debug # mine\n");
  let output = "";
  const io = {
    stdout: (text: string | Uint8Array) => void (output += text),
    stderr: () => {},
    env: {} as Record<string, string>,
    columns: 0,
    signal: new AbortController().signal,
  };
  return {
    dir,
    config,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    run: (flags: Record<string, string>, env = {}) =>
      joinCommand.run({ flags: { config, ...flags }, args: [] }, { ...io, env }),
    output: () => output,
  };
}

test("join writes a kubeconfig for the owner alone and points the settings at it", async (t) => {
  const node = await createNode(t);
  assert.equal(await node.run({ server: node.address }), 0);
  assert.match(node.output(), /reaches an API server v1\.30\.1/);
  const kubeconfig = join(node.dir, "kubeconfig");
  assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
  assert.match(await readFile(kubeconfig, "utf8"), new RegExp(`server: ["']?${node.address}`));
  assert.equal(await readFile(node.config, "utf8"), `log-level: debug # mine\nkubeconfig: ${kubeconfig}\n`);
});

test("join changes nothing when the API server does not answer", async (t) => {
  const node = await createNode(t);
  await assert.rejects(node.run({ server: "http://127.0.0.1:1" }), /127\.0\.0\.1:1/);
  assert.deepEqual(await readdir(node.dir), ["config.yaml"]);
  assert.match(await readFile(node.config, "utf8"), /^standalone: true$/m);
});

test("join sends no token over an open line", async (t) => {
  const node = await createNode(t);
  await assert.rejects(node.run({ server: node.address }, { NCKUBELET_TOKEN: "secret" }), /is not encrypted/);
});

test("join wants to know which API server, and only once", async (t) => {
  const node = await createNode(t);
  await assert.rejects(node.run({}), /say which API server/);
  await assert.rejects(node.run({ kubeconfig: "x", server: "y" }), /leave the others out/);
});

test("joinedSettings replaces only what names an API server", () => {
  assert.equal(
    joinedSettings("a: 1\n\nserver: x\nkubeconfig: y\n  server: nested\n", "/k"),
    "a: 1\n\n  server: nested\nkubeconfig: /k\n",
  );
  assert.equal(joinedSettings("", "/k"), "kubeconfig: /k\n");
});
