import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { createServerApp } from "../../../src/server/app.ts";
import { defaultBounds, isLoopbackHost, listenOnPort } from "../../../src/server/listen/listen.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { servicesWith, viewWith, web } from "../fake-agent.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";

const clients = 1000;
const head = "GET /apps HTTP/1.1\r\nhost: localhost\r\n";
/** The ways to hold on to a server. Each gets the socket once it is connected. */
const ways: ((socket: Socket) => void)[] = [
  // Says nothing.
  () => {},
  // Never comes to the end of its head.
  (socket) => socket.write(head),
  // Promises a body and does not send it.
  (socket) =>
    socket.write("PUT /apps/default/web HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n"),
  // Asks for a long log and reads nothing of it.
  (socket) => {
    socket.pause();
    socket.write("GET /apps/default/web/logs HTTP/1.1\r\nhost: localhost\r\n\r\n");
  },
  // Asks for one thing after the other and reads nothing.
  (socket) => {
    socket.pause();
    socket.write(`${head}\r\n`.repeat(8));
  },
];

test(`${clients} slow clients of ${ways.length} kinds do not keep others from being served`, async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const logFile = firstPart(folder);
  await writeFile(logFile, `${"x".repeat(1023)}\n`.repeat(4096));
  const view = viewWith({ app: () => ({ ...web, logFile }) });
  const readers = { now: 0, most: clients, use: "read a log" };
  const app = createServerApp(
    { kind: "loopback", isOwnHost: isLoopbackHost },
    servicesWith({ view, readers }),
  );
  const listener = await listenOnPort(app, "127.0.0.1:0");
  const port = Number(new URL(listener.address).port);
  const sockets: Socket[] = [];
  try {
    for (let n = 0; n < clients; n++) {
      // Without reading, a client does not notice that its connection was closed.
      const socket = connect(port, "127.0.0.1").on("error", () => {}).resume();
      socket.once("connect", () => ways[n % ways.length]!(socket));
      sockets.push(socket);
      if (n % 20 === 0) assert.equal(await health(listener.address), "ok", `after ${n} clients`);
    }
    await waitFor("all had their turn", () => sockets.every(({ connecting }) => !connecting));
    // A paused socket does not notice its end either, so only those that read can be counted.
    const reading = sockets.filter((socket) => !socket.isPaused());
    await waitFor(
      "no more are left than there may be",
      () => reading.filter(({ closed }) => !closed).length <= defaultBounds.connections,
    );
    for (let n = 0; n < 50; n++) assert.equal(await health(listener.address), "ok");
  } finally {
    for (const socket of sockets) socket.destroy();
    await listener.close();
  }
});

async function health(address: string): Promise<string> {
  const answer = await fetch(`${address}/healthz`, { headers: { connection: "close" } });
  return await answer.text();
}
