import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Duplex } from "node:stream";
import { encodeControl, encodeDataHead } from "../../../src/server/spdy/frames.ts";
import { HeaderWriter } from "../../../src/server/spdy/header-block.ts";
import {
  type Headers,
  type Pace,
  type SessionOptions,
  SpdySession,
  type SpdyStream,
} from "../../../src/server/spdy/spdy.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { SpdyClient } from "./client.ts";

/** A session and its client, over a real connection: of TCP, or through this path. */
async function connected(options: Partial<SessionOptions> = {}, path?: string) {
  // As with real clients and HTTP servers: no frame waits for the acknowledgment of another.
  const noDelay = true;
  const server = createServer({ noDelay });
  server.listen(path === undefined ? { port: 0, host: "127.0.0.1" } : { path });
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const port = () => (server.address() as AddressInfo).port;
  const socket = connect(path === undefined ? { port: port(), host: "127.0.0.1", noDelay } : { path });
  const [serverSocket] = await accepted;
  const streams: SpdyStream[] = [];
  const headers: Headers[] = [];
  const session = new SpdySession(serverSocket, {
    accept: (found) => (stream) => {
      streams.push(stream);
      headers.push(found);
    },
    ...options,
  });
  const client = new SpdyClient(socket);
  return {
    session,
    client,
    socket,
    serverSocket,
    streams,
    headers,
    stream: (at = 0) => waitFor("the stream is there", () => streams[at]),
    async [Symbol.asyncDispose]() {
      socket.destroy();
      session.destroy();
      server.close();
      await session.closed;
    },
  };
}

test("streams carry their headers and bytes, and each side closes its half on its own", async () => {
  await using pair = await connected();
  const sent = pair.client.open({ streamType: "stdin" });
  const stream = await pair.stream();
  assert.equal(pair.headers[0]!.get("streamtype"), "stdin");
  sent.write("hello ");
  sent.write("world", true);
  let text = "";
  stream.on("data", (chunk) => text += chunk);
  await once(stream, "end");
  assert.equal(text, "hello world");
  stream.write("still ");
  stream.end("open");
  await waitFor("the answer is there", () => sent.ended);
  assert.equal(sent.text(), "still open");
  await waitFor("the stream is forgotten", () => stream.destroyed);
  assert.equal(sent.reset, undefined);
});

for (const keepsWindows of [true, false]) {
  test(`2 MB go both ways at once with a client that ${keepsWindows ? "keeps" : "ignores"} windows`, async () => {
    await using pair = await connected({ accept: () => (stream) => void stream.pipe(stream) });
    pair.client.keepsWindows = keepsWindows;
    const stream = pair.client.open({ streamType: "echo" });
    await pair.client.replied();
    const bytes = randomBytes(2 << 20);
    for (let at = 0; at < bytes.length;) {
      const size = keepsWindows ? Math.min(20_000, stream.window) : 100_000;
      if (size === 0) {
        await waitFor("the window opens", () => stream.window > 0);
        continue;
      }
      if (!stream.write(bytes.subarray(at, at + size))) await once(pair.socket, "drain");
      at += size;
    }
    stream.end();
    await waitFor("all is back", () => stream.ended);
    assert.ok(Buffer.concat(stream.received).equals(bytes));
  });
}

test("the windows of a client that has mentioned them are never exceeded", async () => {
  await using pair = await connected();
  const sent = pair.client.open({ streamType: "stdout" });
  pair.client.send({ type: "settings", initialWindow: 1000 });
  pair.client.send({ type: "ping", id: 1 });
  await waitFor("the settings are read", () => pair.client.pings.length > 0);
  const stream = await pair.stream();
  const written = new Promise<void>((resolve) => stream.write(Buffer.alloc(2500), () => resolve()));
  await waitFor("the window is used", () => sent.length === 1000);
  pair.client.send({ type: "windowUpdate", stream: sent.id, delta: 600 });
  pair.client.send({ type: "ping", id: 3 });
  await waitFor("the update is read", () => pair.client.pings.length > 1);
  assert.equal(sent.length, 1600);
  pair.client.send({ type: "windowUpdate", stream: sent.id, delta: 900 });
  await written;
  await waitFor("the rest is there", () => sent.length === 2500);
});

test("a client that sends without end to a stream that nobody reads is stopped, and continues when somebody does", async () => {
  await using pair = await connected({ limits: { waitingBytes: 100_000 } });
  const sent = pair.client.open({ streamType: "stdin" });
  const stream = await pair.stream();
  let written = 0;
  const block = Buffer.alloc(65_536);
  const stopped = waitFor("the connection is full", () => {
    while (!pair.socket.writableNeedDrain) {
      sent.write(block);
      written += block.length;
    }
    return pair.serverSocket.isPaused();
  });
  await stopped;
  assert.ok(pair.serverSocket.bytesRead < 400_000, `${pair.serverSocket.bytesRead} bytes were read`);
  sent.end();
  let received = 0;
  for await (const chunk of stream) received += chunk.length;
  assert.equal(received, written);
});

test("a client that leaves while its connection is not read is noticed by the next write", async () => {
  await using pair = await connected({ limits: { waitingBytes: 1000 } });
  const [stdin, stdout] = [
    pair.client.open({ streamType: "stdin" }),
    pair.client.open({ streamType: "stdout" }),
  ];
  const stream = await pair.stream(1);
  stdin.write(Buffer.alloc(200_000));
  await waitFor("it is paused", () => pair.serverSocket.isPaused());
  pair.socket.destroy();
  assert.ok(stdout);
  await waitFor("the session ends", () => {
    if (!stream.destroyed) stream.write("are you there?");
    return stream.destroyed;
  });
  await pair.session.closed;
});

test("bytes that nobody reads are freed with their stream", async () => {
  await using pair = await connected({ limits: { waitingBytes: 1000 } });
  const sent = pair.client.open({ streamType: "stdin" });
  const stream = await pair.stream();
  sent.write(Buffer.alloc(200_000));
  await waitFor("it is paused", () => pair.serverSocket.isPaused());
  stream.destroy();
  await waitFor("the client is told", () => sent.reset === 5);
  pair.client.send({ type: "ping", id: 1 });
  await waitFor("the connection is read again", () => pair.client.pings.includes(1), 20_000);
});

test("streams beyond the limit, and those that are not admitted, are refused one by one", async () => {
  const accepted: SpdyStream[] = [];
  await using pair = await connected({
    limits: { streams: 2 },
    accept: (headers) => headers.get("port") === "0" ? undefined : (stream) => void accepted.push(stream),
  });
  const streams = ["1", "0", "2", "3"].map((port) => pair.client.open({ port }));
  await waitFor("the last is refused", () => streams[3]!.reset === 3);
  assert.deepEqual(streams.map(({ replied, reset }) => [replied, reset]), [
    [true, undefined],
    [false, 3],
    [true, undefined],
    [false, 3],
  ]);
  accepted[0]!.destroy();
  const next = pair.client.open({ port: "4" });
  await waitFor("a place is free", () => next.replied);
});

test("a reset ends its stream only", async () => {
  await using pair = await connected();
  const [one, other] = [pair.client.open({ a: "1" }), pair.client.open({ a: "2" })];
  const [first, second] = [await pair.stream(0), await pair.stream(1)];
  pair.client.send({ type: "reset", stream: one.id, status: 5 });
  await waitFor("it is gone", () => first.destroyed);
  one.write("late data is ignored");
  second.write("alive");
  await waitFor("the other works", () => other.text() === "alive");
});

test("pings are answered, also with an answer that the client does not read at once", async () => {
  await using pair = await connected();
  for (const id of [1, 3, 2, 5]) pair.client.send({ type: "ping", id });
  await waitFor("three answers", () => pair.client.pings.length === 3);
  assert.deepEqual(pair.client.pings, [1, 3, 5]);
});

test("a client that sends pings and reads nothing is dropped, and costs no more than the limit", async () => {
  using temp = tempFolder();
  // The kernel keeps little of what nobody reads from such a socket, and megabytes of TCP.
  await using pair = await connected({ limits: { unsentBytes: 10_000 } }, join(temp.path, "socket"));
  pair.socket.pause();
  const pings = Buffer.concat(Array.from({ length: 5000 }, () => encodeControl({ type: "ping", id: 1 })));
  const flood = setInterval(() => pair.socket.write(pings), 1);
  const why = await pair.session.closed;
  clearInterval(flood);
  assert.match(why?.message ?? "", /sends, but does not read/);
});

test("what breaks the protocol ends the connection with a GOAWAY, and every stream", async () => {
  const rude: Record<string, (client: SpdyClient) => void> = {
    "an even stream": (client) => void client.open({ a: "1" }, { id: 2 }),
    "a stream again": (client) => void client.open({ a: "1" }, { id: 1 }),
    "data for no stream": (client) => void client.data(99, Buffer.from("x"), false),
    "data for an even stream": (client) => void client.data(0, Buffer.from("x"), false),
    "a reset for no stream": (client) => client.send({ type: "reset", stream: 99, status: 5 }),
    "a window for no stream": (client) => client.send({ type: "windowUpdate", stream: 99, delta: 1 }),
    "headers for no stream": (client) =>
      client.send({ type: "headers", stream: 99, fin: false, block: client.compress(new Map([["a", "1"]])) }),
    "headers for a stream that the client has ended": (client) => {
      client.data(1, Buffer.alloc(0), true);
      client.send({ type: "headers", stream: 1, fin: false, block: client.compress(new Map()) });
    },
    "headers that are damaged": (client) =>
      client.send({ type: "headers", stream: 1, fin: false, block: Buffer.from("damaged") }),
    "a window without size": (client) => client.send({ type: "windowUpdate", stream: 0, delta: 0 }),
    "a reply": (client) => client.send({ type: "synReply", stream: 1, fin: false, block: Buffer.alloc(0) }),
    "no SPDY at all": (client) => void client.socket.write("\xffGET / HTTP/1.1\r\n\r\n"),
    "a long header block": (client) =>
      client.send({ type: "headers", stream: 1, fin: false, block: Buffer.alloc(70_000) }),
  };
  for (const [what, act] of Object.entries(rude)) {
    await using pair = await connected();
    pair.client.open({ a: "1" });
    const stream = await pair.stream();
    act(pair.client);
    const why = await pair.session.closed;
    assert.match(why?.message ?? "", /^SPDY: /, what);
    await waitFor(
      `${what}: the client is told`,
      () => pair.client.goAway?.status === 1 && pair.client.closed,
    );
    assert.ok(stream.destroyed, what);
  }
});

/** A session whose client's bytes the test chooses, chunk by chunk; what it answers is dropped. */
function fed(options: Partial<SessionOptions> = {}) {
  const answers = { bytes: 0 };
  const socket = new Duplex({
    read() {},
    write(chunk: Uint8Array, _, done) {
      answers.bytes += chunk.length;
      done();
    },
  });
  const session = new SpdySession(socket, { accept: () => () => {}, ...options });
  return { socket, session, answers, [Symbol.dispose]: () => session.destroy() };
}

test("a chunk with thousands of frames leaves turns of the event loop to others", async () => {
  using busy = fed();
  const count = 40_000;
  let turns = 0;
  const tick = () => {
    turns++;
    if (busy.answers.bytes < 12 * count) setImmediate(tick);
  };
  setImmediate(tick);
  busy.socket.push(
    Buffer.concat(Array.from({ length: count }, () => encodeControl({ type: "ping", id: 1 }))),
  );
  await waitFor("all are answered", () => busy.answers.bytes === 12 * count);
  assert.ok(turns > 3, `${turns} turns`);
});

test("frames cost of the budgets that connections share, those with headers most, and data by its bytes, both ways", async () => {
  const costs: number[] = [];
  const pace = { spend: (cost: number) => (costs.push(cost), 0) } as unknown as Pace;
  const streams: SpdyStream[] = [];
  const accept = () => (stream: SpdyStream) => void streams.push(stream.resume());
  await using pair = await connected({ paces: [pace], accept });
  const stream = pair.client.open({ a: "1" });
  await pair.client.replied();
  stream.write("x");
  pair.client.send({ type: "ping", id: 1 });
  await waitFor("the ping", () => pair.client.pings.length === 1);
  const [headers, small, ping] = costs;
  assert.ok(headers! > small! && small! > 0 && ping! > 0);
  costs.length = 0;
  stream.write(Buffer.alloc(1 << 20));
  pair.client.send({ type: "ping", id: 3 });
  await waitFor("the ping", () => pair.client.pings.length === 2);
  const sum = () => costs.reduce((total, cost) => total + cost, 0);
  assert.ok(sum() >= 1024 && sum() < 2048, `${sum()} for a MiB from the client`);
  costs.length = 0;
  streams[0]!.end(Buffer.alloc(1 << 20));
  await waitFor("all is there", () => stream.ended);
  assert.ok(sum() >= 1024 && sum() < 2048, `${sum()} for a MiB to the client`);
});

test("a session that is told to wait handles nothing meanwhile, and goes on after it", async () => {
  let waitMs = 600_000;
  const pace = { spend: () => waitMs } as unknown as Pace;
  using held = fed({ paces: [pace] });
  held.socket.push(encodeControl({ type: "ping", id: 1 }));
  await new Promise(setImmediate);
  assert.equal(held.answers.bytes, 0);
  waitMs = 1;
  using paced = fed({ paces: [pace] });
  paced.socket.push(encodeControl({ type: "ping", id: 1 }));
  await waitFor("it is answered", () => paced.answers.bytes === 12);
});

test("a session that is told to wait sends no data meanwhile, and the rest after it, while others of its kind go on", async () => {
  let waitMs = 0;
  const pace = { spend: () => waitMs } as unknown as Pace;
  const streams: SpdyStream[] = [];
  await using pair = await connected({
    paces: [pace],
    accept: () => (stream) => void streams.push(stream.resume()),
  });
  const stream = pair.client.open({ a: "1" });
  await pair.client.replied();
  waitMs = 50;
  const isWritten = new Promise<void>((resolve) => streams[0]!.end(Buffer.alloc(100_000), resolve));
  assert.ok(streams[0]!.writableLength > 0, "it waits after the first frame");
  await isWritten;
  await waitFor("all is there", () => stream.ended && stream.length === 100_000);
});

test("a small piece of a large chunk does not keep the chunk in memory", async () => {
  const streams: SpdyStream[] = [];
  using small = fed({ accept: () => (stream) => void streams.push(stream) });
  const open = encodeControl({
    type: "synStream",
    stream: 1,
    fin: false,
    unidirectional: false,
    block: new HeaderWriter().write(new Map([["a", "1"]])),
  });
  small.socket.push(Buffer.concat([open, encodeDataHead(1, 60_000, false), Buffer.from("x")]));
  const stream = await waitFor("the stream", () => streams[0]);
  const piece = await waitFor("the byte", () => stream.read() as Buffer);
  assert.equal(piece.toString(), "x");
  assert.ok(piece.buffer.byteLength < 10_000, `${piece.buffer.byteLength} bytes`);
});

test("a connection on which no data moves ends after its time; pings do not keep it", async () => {
  await using pair = await connected({ limits: { idleMs: 300 } });
  const pinging = setInterval(() => pair.client.send({ type: "ping", id: 1 }), 20);
  const why = await pair.session.closed;
  clearInterval(pinging);
  assert.match(why?.message ?? "", /no data has moved for 0.3 s/);
});

test("end() says goodbye and leaves the client time to close, but not for ever", async () => {
  await using polite = await connected();
  const ending = polite.session.end();
  await waitFor("goodbye", () => polite.client.goAway?.status === 0);
  await ending;
  assert.equal(await polite.session.closed, undefined);
  await using rude = await connected({ limits: { lingerMs: 50 } });
  rude.client.leaves = false;
  await rude.session.end();
  await waitFor("it is closed", () => rude.client.closed);
});

test("the end of the connection ends every stream, also one that waits for its window", async () => {
  await using pair = await connected();
  pair.client.send({ type: "settings", initialWindow: 10 });
  pair.client.open({ a: "1" });
  const stream = await pair.stream();
  stream.write(Buffer.alloc(100));
  pair.socket.destroy();
  assert.equal(await pair.session.closed.then((why) => why === undefined || why instanceof Error), true);
  assert.ok(stream.destroyed);
});

test("a stream that always has more to send does not keep another one waiting", async () => {
  await using pair = await connected();
  const [, other] = ["greedy", "other"].map((streamType) => pair.client.open({ streamType }));
  const [greedy, modest] = [await pair.stream(0), await pair.stream(1)];
  pair.socket.pause();
  const most = 400;
  let writes = 0;
  const fill = () => {
    while (writes < most && other!.length === 0) if (!greedy.write(Buffer.alloc(100_000, writes++))) return;
  };
  greedy.on("drain", fill);
  fill();
  await waitFor("the connection is full", () => pair.serverSocket.writableLength > 0);
  modest.write("hello");
  pair.socket.resume();
  await waitFor("the other stream", () => other!.length === 5);
  assert.ok(writes < most, "it came only after everything else");
});
