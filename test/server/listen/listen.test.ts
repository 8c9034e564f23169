import assert from "node:assert/strict";
import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { request as requestTLS } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { connect as connectTLS, type PeerCertificate } from "node:tls";
import { Hono } from "hono";
import {
  createBoundedServer,
  defaultBounds,
  isLoopbackHost,
  listenForHealth,
  listenOnPort,
  listenOnSocket,
  listenWithTLS,
  readKeyPair,
} from "../../../src/server/listen/listen.ts";
import { parseAddress } from "../../../src/lib/special-addresses.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { createPulse } from "../../../src/lib/pulse.ts";
import { alice, bob, ca, server as serverPair } from "../../kube/access/certificates.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

const app = new Hono().get("/", (context) => context.text("here"));

async function folderWith(files: Record<string, string>) {
  const temp = tempFolder();
  const folder = temp.path;
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return {
    folder,
    files: { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") },
    [Symbol.dispose]: temp.remove,
  };
}

test("listenOnPort() serves on loopback and refuses every other address", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0");
  assert.equal(await (await fetch(listener.address)).text(), "here");
  await listener.close();
  for (const address of ["0.0.0.0:1", "[::]:1", "192.0.2.1:80", "example.com:80"]) {
    await assert.rejects(
      listenOnPort(app, address),
      new RegExp(`--listen ${address.replaceAll(/[[\].]/g, "\\$&")}: only loopback`),
    );
  }
});

test("listenForHealth() serves on every address, or the one that is named, and names what is wrong", async () => {
  for (const address of [":0", "0.0.0.0:0", "127.0.0.1:0"]) {
    const listener = await listenForHealth(app, address);
    const { port } = new URL(listener.address);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "here", address);
    await assert.rejects(
      listenForHealth(app, `127.0.0.1:${port}`),
      /--health-listen 127\.0\.0\.1:\d+: EADDRINUSE/,
    );
    await listener.close();
  }
  await assert.rejects(listenForHealth(app, "10270"), /"10270" is not an address such as/);
});

test("listenOnPort() names a port that is taken", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0");
  const address = new URL(listener.address).host;
  await assert.rejects(listenOnPort(app, address), /EADDRINUSE/);
  await listener.close();
});

test("listenOnSocket() is private, replaces a dead socket, and leaves a living one alone", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const path = join(folder, "agent.sock");
  const first = await listenOnSocket(app, path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await assert.rejects(listenOnSocket(app, path), /another agent is serving it/);
  await first.close();
  await (await listenOnSocket(app, path)).close();
});

test("parseAddress() takes names, IPv4 and IPv6 apart, and quotes what it cannot", () => {
  assert.deepEqual(parseAddress("localhost:80"), { host: "localhost", port: 80 });
  assert.deepEqual(parseAddress("[::1]:80"), { host: "::1", port: 80 });
  for (const bad of ["80", "::1:80", "a:99999", ""]) {
    assert.throws(() => parseAddress(bad), new RegExp(JSON.stringify(bad).replaceAll(/[[\]]/g, "\\$&")));
  }
});

test("isLoopbackHost() knows the names of this machine and no other", () => {
  for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:10268", "[::1]", "[::1]:80"]) {
    assert.ok(isLoopbackHost(host), host);
  }
  for (
    const host of ["", "example.com", "localhost.example.com", "10.0.0.1:80", "::1", "127.0.0.1.example.com"]
  ) {
    assert.ok(!isLoopbackHost(host), host);
  }
});

test("what is not HTTP is answered as Status, and the next client is served", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0");
  for (
    const [sent, code] of [["NONSENSE\r\n\r\n", 400], [
      `GET / HTTP/1.1\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ]]
  ) {
    const text = await exchange(Number(new URL(listener.address).port), String(sent));
    assert.match(text, new RegExp(`^HTTP/1.1 ${code} `));
    const status = JSON.parse(text.slice(text.indexOf("\r\n\r\n")));
    assert.deepEqual([status.kind, status.code], ["Status", code]);
  }
  assert.equal(await (await fetch(listener.address)).text(), "here");
  await listener.close();
});

test("a request whose head does not come is ended with 408", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0", { ...defaultBounds, headersMs: 50 });
  const text = await exchange(Number(new URL(listener.address).port), "GET / HTTP/1.1\r\nhost: lo");
  assert.match(text, /^HTTP\/1\.1 408 /);
  await listener.close();
});

test("where there are too many connections, the one goes that has waited longest; who has a request stays", async () => {
  const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = new Hono().get("/", (context) => context.text("here")).get("/slow", async (context) => {
    arrived.resolve();
    await release.promise;
    return context.text("done");
  });
  await using server = await serve(createBoundedServer(slow, { ...defaultBounds, connections: 3 }));
  const waiting = exchange(server.port, "GET /slow HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  await arrived.promise;
  const idle = await Promise.all([1, 2, 3, 4, 5].map(async () => {
    const socket = connect(server.port, "127.0.0.1").on("error", () => {}).resume();
    await once(socket, "connect");
    return socket;
  }));
  await waitFor("the oldest are gone", () => idle.filter(({ closed }) => !closed).length === 2);
  assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`)).text(), "here");
  release.resolve();
  assert.match(await waiting, /done$/);
  for (const socket of idle) socket.destroy();
});

test("listenWithTLS() serves with its certificate, and does not speak without", async () => {
  await using place = await folderWith({ "tls.crt": serverPair.cert, "tls.key": serverPair.key });
  const listener = await listenWithTLS(app, "127.0.0.1:0", {
    flag: "--listen",
    readPair: () => readKeyPair(place.files),
    log: silentLogger,
  });
  assert.match(listener.address, /^https:\/\/127\.0\.0\.1:\d+$/);
  const call = requestTLS(listener.address, { ca, agent: false }).end();
  const [response] = await once(call, "response");
  assert.equal(response.statusCode, 200);
  response.resume();
  await once(response, "close");
  await assert.rejects(fetch(listener.address.replace("https", "http")));
  await listener.close();
});

test("a certificate or key that cannot be used is an error with the flag and the file", async () => {
  await using place = await folderWith({ "tls.crt": serverPair.cert, "tls.key": bob.key, "junk": "junk" });
  const junk = join(place.folder, "junk");
  const { certFile, keyFile } = place.files;
  await assert.rejects(readKeyPair(place.files), /--tls-private-key-file .*tls\.key: not the key of/);
  await assert.rejects(readKeyPair({ certFile: junk, keyFile }), /--tls-cert-file .*junk: not valid PEM/);
  await assert.rejects(
    readKeyPair({ certFile, keyFile: junk }),
    /--tls-private-key-file .*junk: not valid PEM/,
  );
  await assert.rejects(readKeyPair({ certFile: `${junk}-not`, keyFile }), /--tls-cert-file .*ENOENT/);
});

test("a replaced certificate is used for new connections; one without its key is not", async () => {
  await using place = await folderWith({ "tls.crt": serverPair.cert, "tls.key": serverPair.key });
  let warned = 0;
  const log = { ...silentLogger, warn: () => void warned++ };
  const readPair = () => readKeyPair(place.files);
  const server = await listenWithTLS(app, "127.0.0.1:0", { flag: "--listen", readPair, log, rereadMs: 10 });

  assert.equal(await nameShown(server.port), "kube.test");
  await writeFile(place.files.certFile, alice.cert);
  await waitFor("the half pair is noticed", () => warned > 0);
  assert.equal(await nameShown(server.port), "kube.test");
  await writeFile(place.files.keyFile, alice.key);
  await waitFor("the new pair is shown", async () => await nameShown(server.port) === "alice");
  await server.close();
});

test("a reload reads the certificate at once, and every later one again", async () => {
  await using place = await folderWith({ "tls.crt": serverPair.cert, "tls.key": serverPair.key });
  const reloads = createPulse();
  const server = await listenWithTLS(app, "127.0.0.1:0", {
    flag: "--listen",
    readPair: () => readKeyPair(place.files),
    log: silentLogger,
    rereadMs: 3_600_000,
    reloads,
  });
  for (const [pair, name] of [[alice, "alice"], [serverPair, "kube.test"]] as const) {
    await writeFile(place.files.certFile, pair.cert);
    await writeFile(place.files.keyFile, pair.key);
    reloads.beat();
    await waitFor("the new pair is shown", async () => await nameShown(server.port) === name);
  }
  await server.close();
});

async function serve(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Sends text and returns all that comes until the other side closes. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk) => answer += chunk);
  await once(socket, "close");
  return answer;
}

async function nameShown(port: number): Promise<string> {
  const socket = connectTLS({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { subject } = socket.getPeerCertificate() as PeerCertificate;
  socket.destroy();
  return String(subject.CN);
}
