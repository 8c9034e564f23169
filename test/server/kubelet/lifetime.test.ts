import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { KubeletServices } from "../../../src/server/kubelet/kubelet.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { viewWith, web } from "../fake-agent.ts";
import { SpdyClient } from "../spdy/client.ts";
import { readerOf } from "../stream-reader.ts";
import { authorizeByRights } from "./fake-kubelet.ts";
import { askForStreams, openStreams, startKubelet } from "./stream-client.ts";

/** A node whose app, Pod and rights the test changes. */
async function node(fields: Partial<KubeletServices> = {}, logFile = web.logFile) {
  const world = {
    run: "one",
    pod: true,
    app: true,
    allowExec: true,
    verdict: "allowed" as "allowed" | "forbidden" | "unavailable",
    asked: 0,
  };
  const listeners = new Set<(key: string) => void>();
  const kubelet = await startKubelet({
    view: viewWith({
      app() {
        const spec = { ...web.app.spec, allowExec: world.allowExec };
        const run = { id: world.run, folder: "/no/such/run" };
        return world.app ? { ...web, app: { ...web.app, spec }, logFile, run } : undefined;
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    pods: {
      appOfPod: (namespace, name) => world.pod ? { namespace, name } : undefined,
      podOf: () => ({ name: "web", uid: "uid-pod" }),
      podList: () => [],
    },
    authorize: async (...way) => {
      world.asked++;
      return world.verdict === "allowed" ? await authorizeByRights(...way) : world.verdict;
    },
    recheckMs: 20,
    ...fields,
  });
  const change = (next: Partial<typeof world>) => {
    Object.assign(world, next);
    for (const listener of [...listeners]) listener("default/web");
  };
  return { ...kubelet, world, change, listeners };
}

/** A port-forward with one open connection, to a server that echoes. */
async function forwarded(port: number) {
  const echo = createServer((socket) => void socket.pipe(socket).on("error", () => {})).listen(
    0,
    "127.0.0.1",
  );
  await once(echo, "listening");
  const accepted = once(echo, "connection");
  const client = await askForStreams(port, "/portForward/default/web", { protocol: "portforward.k8s.io" });
  assert.ok(client instanceof SpdyClient);
  const headers = { port: String((echo.address() as AddressInfo).port), requestID: "1" };
  const error = client.open({ ...headers, streamType: "error" });
  const data = client.open({ ...headers, streamType: "data" });
  data.write("hello");
  await waitFor("the echo", () => data.text() === "hello");
  const [target] = await accepted;
  return {
    client,
    data,
    error,
    target,
    [Symbol.dispose]: () => void (client.socket.destroy(), echo.close()),
  };
}

const ends: Record<string, { change: object; says: RegExp }> = {
  "its app's run": { change: { run: "two" }, says: /^the run of default\/web has ended$/ },
  "its Pod": { change: { pod: false }, says: /^the pod of default\/web is gone$/ },
  "its app": { change: { app: false }, says: /^the pod of default\/web is gone$/ },
  "the rights of its sender": {
    change: { verdict: "forbidden" },
    says: /^user "writer" may not create nodes\/proxy$/,
  },
  "its app's permission to enter": {
    change: { allowExec: false },
    says: /^ncapp default\/web may run as root/,
  },
};
for (const [what, { change, says }] of Object.entries(ends)) {
  test(
    `a port-forward ends with ${what}, says so, and frees its connection`,
    { timeout: 30_000 },
    async () => {
      await using kubelet = await node();
      using open = await forwarded(kubelet.port);
      kubelet.change(change);
      await waitFor("goodbye", () => open.client.goAway?.status === 0);
      assert.match(open.error.text(), says);
      await waitFor("the port is free", () => open.target.destroyed || open.target.readableEnded);
      await waitFor("nothing is left", () => kubelet.services.limits.sessions.now === 0);
      assert.equal(kubelet.listeners.size, 0);
    },
  );
}

test("a stream goes on while nobody can say whether its sender may still use it", async () => {
  await using kubelet = await node();
  using open = await forwarded(kubelet.port);
  kubelet.change({ verdict: "unavailable" });
  const { asked } = kubelet.world;
  await waitFor("it was asked", () => kubelet.world.asked > asked + 3);
  open.data.write(" again");
  await waitFor("the echo", () => open.data.text() === "hello again");
  assert.equal(open.client.goAway, undefined);
});

test("attach ends with the rights of its sender, and says so", { timeout: 30_000 }, async () => {
  using temp = tempFolder();
  mkdirSync(join(temp.path, "default_web"));
  const logFile = firstPart(join(temp.path, "default_web"));
  writeFileSync(logFile, "");
  await using kubelet = await node({}, logFile);
  const { streams } = await openStreams(kubelet.port, "/attach/default/web/app?output=1", [
    "error",
    "stdout",
  ]);
  kubelet.change({ verdict: "forbidden" });
  await waitFor("the result", () => streams.error!.ended);
  const { status, message } = JSON.parse(streams.error!.text());
  assert.deepEqual([status, message], ["Failure", 'user "writer" may not create nodes/proxy']);
});

test(
  "attach ends, and closes the log, when its client resets the output at once",
  { timeout: 30_000 },
  async () => {
    using temp = tempFolder();
    mkdirSync(join(temp.path, "default_web"));
    const logFile = firstPart(join(temp.path, "default_web"));
    writeFileSync(logFile, "");
    await using kubelet = await node({}, logFile);
    const client = await askForStreams(kubelet.port, "/attach/default/web/app?output=1");
    assert.ok(client instanceof SpdyClient);
    client.socket.cork();
    client.open({ streamType: "error" });
    const stdout = client.open({ streamType: "stdout" });
    client.send({ type: "reset", stream: stdout.id, status: 5 });
    client.socket.uncork();
    await client.replied();
    for (let line = 0; line < 3; line++) appendFileSync(logFile, "a line that is not read\n".repeat(4000));
    client.socket.destroy();
    await waitFor("nothing is left", () => kubelet.services.limits.sessions.now === 0);
  },
);

test(
  "a followed log ends with the rights of its reader, and its last line says so",
  { timeout: 30_000 },
  async () => {
    using temp = tempFolder();
    mkdirSync(join(temp.path, "default_web"));
    const logFile = firstPart(join(temp.path, "default_web"));
    writeFileSync(logFile, "one\n");
    await using kubelet = await node({}, logFile);
    const answer = await fetch(
      `http://127.0.0.1:${kubelet.port}/containerLogs/default/web/app?follow=true`,
      { headers: { authorization: "Bearer reader" } },
    );
    const log = readerOf(answer);
    await log.until("one\n");
    kubelet.change({ verdict: "forbidden" });
    assert.equal(await log.rest(), 'one\nuser "reader" may not get nodes/proxy\n');
    assert.equal(kubelet.listeners.size, 0);
  },
);
