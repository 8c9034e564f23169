import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request, type RequestOptions } from "node:https";
import { test } from "node:test";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { TLSSocket } from "node:tls";
import { silentLogger } from "../../../src/lib/log.ts";
import { listenWithTLS, type TakeOver } from "../../../src/server/listen/listen.ts";
import { createSelfSigned } from "../../../src/server/listen/self-signed.ts";
import { alice, ca, server as pair } from "../../kube/access/certificates.ts";
import { waitFor } from "../../wait-for.ts";

/** Tells who the client is by its certificate. */
const app = new Hono<{ Bindings: { incoming: { socket: TLSSocket }; takeOver?: TakeOver } }>();
app.get(
  "/",
  ({ text, env: { incoming: { socket } } }) =>
    text(socket.authorized ? String(socket.getPeerCertificate().subject.CN) : "nobody"),
);

/** Answers when the test says so. */
const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
app.get("/held", async (context) => {
  asked.resolve();
  await held.promise;
  return context.text("done");
});

app.get("/stream", (context) => {
  context.env.takeOver!({ upgrade: "x" });
  return RESPONSE_ALREADY_SENT;
});

async function listen(identity: { pair: typeof pair; ca: string | undefined }) {
  const listener = await listenWithTLS(app, "127.0.0.1:0", {
    flag: "--kubelet-listen",
    readPair: async () => identity.pair,
    readAuthority: async () => identity.ca,
    upgrades: true,
    log: silentLogger,
    rereadMs: 20,
  });
  return { ...listener, identity, [Symbol.asyncDispose]: () => listener.close() };
}

async function whoami(port: number, client: RequestOptions = {}): Promise<string> {
  const call = request({
    host: "127.0.0.1",
    port,
    path: "/",
    rejectUnauthorized: false,
    agent: false,
    ...client,
  }).end();
  const [response] = await once(call, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

test(
  "a client certificate counts if the authority signed it, and not without an authority",
  async () => {
    await using kubelet = await listen({ pair, ca });
    assert.equal(await whoami(kubelet.port, alice), "alice");
    assert.equal(await whoami(kubelet.port), "nobody");
    assert.equal(await whoami(kubelet.port, createSelfSigned("alice", ["alice"], Date.now())), "nobody");
    await using open = await listen({ pair, ca: undefined });
    assert.equal(await whoami(open.port, alice), "nobody");
  },
);

test("an authority that appears, changes or goes counts for the next connections", async () => {
  await using kubelet = await listen({ pair, ca: undefined });
  kubelet.identity.ca = ca;
  await waitFor("alice is known", async () => await whoami(kubelet.port, alice) === "alice");
  kubelet.identity.ca = createSelfSigned("other", ["other"], Date.now()).cert;
  await waitFor("alice is unknown", async () => await whoami(kubelet.port, alice) === "nobody");
});

test("a connection that was busy when the authority changed does not keep its user", async () => {
  await using kubelet = await listen({ pair, ca });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const busy = whoami(kubelet.port, { ...alice, agent, path: "/held" });
  await asked.promise;
  kubelet.identity.ca = createSelfSigned("other", ["other"], Date.now()).cert;
  await waitFor("alice is unknown", async () => await whoami(kubelet.port, alice) === "nobody");
  held.resolve();
  assert.equal(await busy, "done", "what had begun goes on");
  assert.notEqual(await whoami(kubelet.port, { ...alice, agent }).catch(() => "closed"), "alice");
  agent.destroy();
});

test("a new serving certificate keeps the authority", async () => {
  await using kubelet = await listen({ pair, ca });
  kubelet.identity.pair = createSelfSigned("node-a", ["node-a"], Date.now());
  const served = async () => {
    const call = request({ host: "127.0.0.1", port: kubelet.port, rejectUnauthorized: false, agent: false })
      .end();
    const [response] = await once(call, "response");
    const { subject } = (response.socket as TLSSocket).getPeerCertificate();
    response.resume();
    return subject.CN as string;
  };
  await waitFor("the new certificate", async () => await served() === "nckubelet:node-a");
  assert.equal(await whoami(kubelet.port, alice), "alice");
});

test("a listener with an open stream can be closed, and ends the stream", { timeout: 20_000 }, async () => {
  const kubelet = await listen({ pair, ca });
  const headers = { connection: "Upgrade", upgrade: "x" };
  const call = request({
    host: "127.0.0.1",
    port: kubelet.port,
    path: "/stream",
    headers,
    rejectUnauthorized: false,
    agent: false,
  }).end();
  const [, stream] = await once(call, "upgrade");
  stream.on("error", () => {}).resume();
  const closed = once(stream, "close");
  await kubelet.close();
  await closed;
});
