/** In a process of its own: the figure is of the whole process, and other tests have buffers too. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import process from "node:process";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { reserved } from "../../../src/server/kubelet/stream-memory.ts";
import { waitFor } from "../../wait-for.ts";
import { forwarding, listen } from "./forwarding.ts";

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

/** The bytes of buffers that are in use, without garbage. */
function liveBuffers(): number {
  if (!process.versions.deno) {
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
  }
  return process.memoryUsage().arrayBuffers;
}
