import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";
import { forwarding, listen } from "./forwarding.ts";

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
