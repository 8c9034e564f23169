import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import process from "node:process";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type PortForwardOptions, servePortForward } from "../../../src/server/kubelet/port-forward.ts";
import { reserved } from "../../../src/server/kubelet/stream-memory.ts";
import { waitFor } from "../../wait-for.ts";
import { SpdyClient } from "../spdy/client.ts";

async function listen(onConnection: (socket: Socket) => void) {
  const server = createServer({ noDelay: true }, onConnection).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

/** The bytes of buffers that are in use; other tests of this process leave garbage, which a collection removes. */
function liveBuffers(): number {
  if (!process.versions.deno) {
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
  }
  return process.memoryUsage().arrayBuffers;
}

/** A port-forward over a real connection, whose reservations are counted. */
async function forwarding({ most = 1000, ...options }: PortForwardOptions & { most?: number } = {}) {
  const memory = { held: 0 };
  const reserve = () => {
    if (memory.held >= most) return undefined;
    memory.held++;
    return () => void memory.held--;
  };
  const accepted = Promise.withResolvers<Socket>();
  const listener = await listen(accepted.resolve);
  const client = new SpdyClient(connect({ port: listener.port, host: "127.0.0.1", noDelay: true }));
  const served = servePortForward(await accepted.promise, { reserve, ...options });
  let pings = 1;
  return {
    client,
    memory,
    open: (port: number, requestID: number, streamType: "data" | "error") =>
      client.open({ port: String(port), requestID: String(requestID), streamType }),
    /** Resolves when the other side has handled everything before it. */
    async settled() {
      const id = pings += 2;
      client.send({ type: "ping", id });
      await waitFor("it is answered", () => client.pings.includes(id));
    },
    async [Symbol.asyncDispose]() {
      client.socket.destroy();
      await served;
      listener[Symbol.dispose]();
    },
  };
}

test("a stream that was reset leaves its pair at once, with what it reserved", async () => {
  const sockets: Socket[] = [];
  using target = await listen((socket) => void sockets.push(socket.on("error", () => {})));
  await using pair = await forwarding();
  for (let id = 0; id < 50; id++) {
    const stream = pair.open(target.port, id, id % 2 ? "data" : "error");
    pair.client.send({ type: "reset", stream: stream.id, status: 5 });
  }
  await pair.settled();
  assert.equal(pair.memory.held, 0);
  const data = pair.open(target.port, 0, "data");
  await pair.settled();
  assert.equal(sockets.length, 0, "there is no error stream yet");
  const error = pair.open(target.port, 0, "error");
  await waitFor("it is connected", () => sockets.length === 1);
  assert.deepEqual([data.reset, error.reset], [undefined, undefined]);
  assert.equal(pair.memory.held, 2);
});

test("a pair in waiting counts against the streams of its connection", async () => {
  await using pair = await forwarding({ limits: { streams: 4 } });
  const streams = [0, 1, 2, 3, 4].map((id) => pair.open(80, id, "error"));
  await waitFor("the last is refused", () => streams[4]!.reset === 3);
  assert.equal(streams[3]!.reset, undefined);
  assert.equal(pair.memory.held, 4);
});

test("streams for which there is no memory are refused, and others go on", async () => {
  using target = await listen((socket) => void socket.pipe(socket).on("error", () => {}));
  await using pair = await forwarding({ most: 2 });
  const [error, data] = [pair.open(target.port, 1, "error"), pair.open(target.port, 1, "data")];
  const more = pair.open(target.port, 2, "error");
  await waitFor("it is refused", () => more.reset === 3);
  data.write("hello");
  await waitFor("the echo", () => data.text() === "hello");
  error.end();
  data.end();
  await waitFor("all is free", () => pair.memory.held === 0);
  const next = pair.open(target.port, 3, "error");
  await waitFor("there is room again", () => next.replied);
});

test("connections whose client reads nothing cost no more than they reserve", async () => {
  const bytes = Buffer.alloc(1 << 16);
  const fill = (socket: Socket) => {
    while (socket.writable && socket.write(bytes));
  };
  const sockets: Socket[] = [];
  using target = await listen((socket) => {
    sockets.push(socket.on("error", () => {}).on("drain", () => fill(socket)));
    fill(socket);
  });
  await using pair = await forwarding();
  const count = 100;
  await pair.settled();
  const before = liveBuffers();
  pair.client.socket.pause();
  for (let id = 0; id < count; id++) {
    pair.open(target.port, id, "error");
    pair.open(target.port, id, "data");
  }
  await waitFor("all are connected", () => sockets.length === count);
  let last = -1;
  await waitFor("nothing moves", () => {
    const sent = sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    return sent === last || void (last = sent);
  });
  const grown = liveBuffers() - before;
  const most = 2 * count * reserved.forwardStream + reserved.session;
  assert.ok(grown < most, `${grown >> 10} KiB, and ${most >> 10} are reserved`);
});
