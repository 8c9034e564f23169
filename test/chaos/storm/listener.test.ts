import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";
import { openListener } from "./listener.ts";

test("a listener forwards, cuts, refuses and silences connections, and delivers late what it withheld", async (t) => {
  const server = createServer((socket) => void socket.on("error", () => {}).pipe(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  await using listener = await openListener((server.address() as AddressInfo).port);
  const open = async () => {
    const socket = connect(listener.port, "127.0.0.1").on("error", () => {});
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk) => text += chunk);
    await once(socket, "connect");
    return { socket, text: () => text };
  };
  const first = await open();
  first.socket.write("a");
  await waitFor("an echo", () => first.text() === "a");

  listener.silence();
  first.socket.write("b");
  const second = await open();
  second.socket.write("c");
  assert.equal(first.text(), "a");
  listener.open("resume");
  await waitFor("what was held back", () => first.text() === "ab" && second.text() === "c");

  listener.silence();
  listener.open("reset");
  await waitFor("a reset", () => first.socket.destroyed && second.socket.destroyed);

  listener.shut();
  const third = await open();
  await waitFor("no way through", () => third.socket.destroyed);
  listener.open();
  const fourth = await open();
  fourth.socket.write("d");
  await waitFor("an echo again", () => fourth.text() === "d");
  listener.cut();
  await waitFor("a cut", () => fourth.socket.destroyed);
});
