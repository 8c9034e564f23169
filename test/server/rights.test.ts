/** Streams of the agent's own endpoint with TLS end with the rights of their sender. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import type { Verdict } from "../../src/server/app.ts";
import { createKubeletApp } from "../../src/server/kubelet/kubelet.ts";
import { closeServer, createBoundedServer, defaultBounds } from "../../src/server/listen/listen.ts";
import { firstPart } from "../supervisor/logs/log-files.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { readerOf } from "./stream-reader.ts";
import { serverWith, servicesWith, viewWith, web } from "./fake-agent.ts";
import { kubeletServices } from "./kubelet/fake-kubelet.ts";

/** An agent behind TLS that asks for rights again and again; the test changes the answer. */
function guarded() {
  const temp = tempFolder();
  const logFile = firstPart(temp.path);
  writeFileSync(logFile, "one\n");
  const world = { verdict: "allowed" as Verdict, asked: 0 };
  const services = servicesWith({ view: viewWith({ app: () => ({ ...web, logFile }) }) });
  const authorize = async () => {
    world.asked++;
    return world.verdict;
  };
  const server = serverWith(services, { kind: "tls", authorize, recheckMs: 20 });
  return {
    world,
    services,
    get: (path: string) => server.request(path, { headers: { authorization: "Bearer good" } }),
    [Symbol.dispose]: temp.remove,
  };
}

const refusal = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "the token may not get nodes/proxy",
  reason: "Forbidden",
  code: 403,
};

test("a followed log ends once its reader loses the right, and the last line says so", async () => {
  using agent = guarded();
  const log = readerOf(await agent.get("/apps/default/web/logs?follow=true"));
  await log.until("one\n");
  agent.world.verdict = "forbidden";
  assert.equal(await log.rest(), "one\nthe token may not get nodes/proxy\n");
  assert.equal(agent.services.followers.now, 0);
});

for (const path of ["/apps?watch=true", "/apps/default/web?watch=true"]) {
  test(`GET ${path} ends once its watcher loses the right, with an ERROR as last line`, async () => {
    using agent = guarded();
    const watch = readerOf(await agent.get(path));
    await watch.lines(1);
    agent.world.verdict = "forbidden";
    const lines = (await watch.rest()).trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ type }) => type), ["ADDED", "ERROR"]);
    assert.deepEqual(lines[1].object, refusal);
    assert.equal(agent.services.followers.now, 0);
  });
}

test("a followed log goes on while the API server cannot be asked, and nobody is asked after its end", async () => {
  using agent = guarded();
  const log = readerOf(await agent.get("/apps/default/web/logs?follow=true"));
  await log.until("one\n");
  agent.world.verdict = "unavailable";
  const rest = log.rest();
  await waitFor("it was asked", () => agent.world.asked > 4);
  assert.equal(agent.services.followers.now, 1);
  await log.cancel();
  assert.equal(await rest, "one\n");
  const { asked } = agent.world;
  agent.world.verdict = "allowed";
  await (await agent.get("/status")).text();
  assert.equal(agent.world.asked, asked + 1);
  assert.equal(agent.services.followers.now, 0);
});

test("an authorized connection is not closed for strangers while the rights of its next request are asked", async () => {
  const answers = [Promise.resolve("allowed" as const)];
  let asked = 0;
  const app = createKubeletApp(kubeletServices({ authorize: () => answers[asked++]! }));
  const server = createBoundedServer(app, { ...defaultBounds, connections: 4, reserved: 2, perPeer: 2 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async () => {
    const headers = { authorization: "Bearer reader" };
    const [response] = await once(request({ port, path: "/healthz", agent, headers }).end(), "response");
    await once(response.resume(), "end");
    return response.statusCode as number;
  };
  assert.equal(await ask(), 200);
  const second = Promise.withResolvers<"allowed">();
  answers.push(second.promise);
  const again = ask();
  await waitFor("it is asked", () => asked === 2);
  const strangers: Socket[] = [];
  for (let at = 0; at < 8; at++) {
    const from = { port, host: "127.0.0.1", localAddress: `127.0.0.${2 + at}` };
    const stranger = connect(from).on("error", () => {}).resume();
    strangers.push(stranger);
    await once(stranger, "connect");
  }
  await waitFor("some had to go", () => strangers.filter(({ closed }) => !closed).length <= 2);
  second.resolve("allowed");
  assert.equal(await again, 200);
  agent.destroy();
  for (const stranger of strangers) stranger.destroy();
  await closeServer(server);
});
