import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Agent, request, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTLS } from "node:tls";
import { Hono } from "hono";
import type { ConnectionEnv } from "../../../src/server/access.ts";
import {
  type Bounds,
  closeServer,
  createBoundedServer,
  defaultBounds,
} from "../../../src/server/listen/listen.ts";
import { peerOf } from "../../../src/server/listen/connections.ts";
import { server as pair } from "../../kube/access/certificates.ts";
import { waitFor } from "../../wait-for.ts";

/** Knows the senders that say so; a request for /held is answered when the test ends. */
function appOf() {
  const end = Promise.withResolvers<void>();
  let held = 0;
  const app = new Hono<{ Bindings: ConnectionEnv }>();
  app.use(async ({ req, env }, next) => {
    env.trust?.(req.header("authorization") !== undefined);
    await next();
  });
  app.get("/", (context) => context.text("here"));
  app.get("/held", async (context) => {
    held++;
    await end.promise;
    return context.text("done");
  });
  return { app, end: end.resolve, held: () => held };
}

async function serve(bounds: Partial<Bounds>, tls?: typeof pair) {
  const { app, end, held } = appOf();
  const server = createBoundedServer(app, { ...defaultBounds, ...bounds }, { tls });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    held,
    end,
    async [Symbol.asyncDispose]() {
      end();
      await closeServer(server);
    },
  };
}

async function open(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {}).resume();
  await once(socket, "connect");
  return socket;
}

function opened(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}

async function ask(port: number, path: string, agent: Agent | false, authorization = "yes"): Promise<string> {
  const call = request({ host: "127.0.0.1", port, path, agent, headers: { authorization } }).end();
  const [response] = await once(call, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

const hello = Buffer.from(`1603010200010001fc0303${"00".repeat(500)}`, "hex");
const handshakes: Record<string, (socket: Socket) => unknown> = {
  "sends nothing": () => {},
  "sends half a ClientHello": (socket) => socket.write(hello.subarray(0, 100)),
  "sends a byte now and then": (socket) => {
    let at = 0;
    const timer = setInterval(() => socket.write(hello.subarray(at, ++at)), 20);
    socket.once("end", () => clearInterval(timer));
    socket.once("close", () => clearInterval(timer));
  },
};
for (const [what, act] of Object.entries(handshakes)) {
  test(`a client that ${what} instead of a TLS handshake is gone after the deadline`, async () => {
    await using tls = await serve({ headersMs: 200 }, pair);
    // It keeps its half of the connection open as long as it can.
    const socket = connect({ port: tls.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {}).resume();
    await once(socket, "connect");
    act(socket);
    await waitFor("the server has it", async () => await opened(tls.server) === 1);
    await waitFor("the server has closed it", async () => await opened(tls.server) === 0, 10_000);
    socket.destroy();
  });
}

test("a finished handshake has no deadline: the connection is there until the request's own", async () => {
  await using tls = await serve({ headersMs: 200 }, pair);
  const socket = connectTLS({ port: tls.port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  socket.write("GET /");
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  assert.match(text, /^HTTP\/1.1 408 /);
});

test("a client that keeps its half open after its request was given up does not keep the connection", async () => {
  await using server = await serve({ headersMs: 100 });
  const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => text += chunk);
  await once(socket, "connect");
  socket.write("GET /");
  await waitFor("the answer", () => text.startsWith("HTTP/1.1 408 "));
  await waitFor("the server has closed it", async () => await opened(server.server) === 0, 10_000);
  socket.destroy();
});

test("connections that nobody has authorized never displace one that was, busy or idle", async () => {
  await using server = await serve({ connections: 8, reserved: 3 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  assert.equal(await ask(server.port, "/", agent), "here");
  const idle = Object.values(agent.freeSockets)[0]![0]!;
  const busy = ask(server.port, "/held", false);
  await waitFor("it is there", () => server.held() === 1);
  const strangers: Socket[] = [];
  for (let at = 0; at < 50; at++) strangers.push(await open(server.port));
  await waitFor("few of them are left", () => strangers.filter(({ closed }) => !closed).length <= 5);
  assert.equal(idle.destroyed, false);
  assert.equal(await ask(server.port, "/", agent), "here", "on the same connection");
  assert.equal(Object.values(agent.freeSockets)[0]![0], idle);
  // The reserved places are for such as these, however many strangers there are.
  const more = [1, 2].map(() => ask(server.port, "/held", false));
  await waitFor("they are served", () => server.held() === 3);
  for (let at = 0; at < 50; at++) strangers.push(await open(server.port));
  server.end();
  assert.deepEqual(await Promise.all([busy, ...more]), ["done", "done", "done"]);
  agent.destroy();
  for (const socket of strangers) socket.destroy();
});

test("a connection whose next request is not authorized is one of the others again", async () => {
  await using server = await serve({ connections: 3, reserved: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await ask(server.port, "/", agent);
  const call = request({ host: "127.0.0.1", port: server.port, path: "/", agent }).end();
  const [response] = await once(call, "response");
  response.resume();
  await once(response, "end");
  const socket = call.socket!;
  const strangers = await Promise.all([1, 2, 3, 4].map(() => open(server.port)));
  await waitFor("it had to go", () => socket.destroyed);
  for (const each of strangers) each.destroy();
  agent.destroy();
});

test("a peer with many connections loses its own, and those of another stay", async () => {
  await using server = await serve({ connections: 20, reserved: 4, perPeer: 10 });
  const quiet = await open(server.port, "127.0.0.1");
  const loud: Socket[] = [];
  for (let at = 0; at < 60; at++) loud.push(await open(server.port, at % 2 ? "127.0.0.2" : "127.0.0.3"));
  await waitFor("the limit is kept", async () => await opened(server.server) <= 16);
  assert.equal(quiet.closed, false);
  assert.equal(await ask(server.port, "/", false), "here");
  for (const socket of [...loud, quiet]) socket.destroy();
});

test("peerOf() is an IPv4 address, or the network of an IPv6 address", () => {
  assert.equal(peerOf("10.0.0.1"), "10.0.0.1");
  assert.equal(peerOf("::ffff:10.0.0.1"), "10.0.0.1");
  assert.equal(peerOf("2001:db8::1"), peerOf("2001:db8:0:0:ffff::2"));
  assert.notEqual(peerOf("2001:db8::1"), peerOf("2001:db8:0:1::1"));
  assert.equal(peerOf("fe80::1%eth0"), peerOf("fe80::2"));
});
