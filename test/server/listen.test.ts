import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Hono } from "hono";
import { listenOnPort, listenOnSocket, parseAddress } from "../../src/server/listen.ts";

const app = new Hono().get("/", (context) => context.text("here"));

test("listenOnPort() serves on loopback and refuses every other address", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0");
  assert.equal(await (await fetch(listener.address)).text(), "here");
  await listener.close();
  for (const address of ["0.0.0.0:1", "[::]:1", "192.0.2.1:80"]) {
    await assert.rejects(
      listenOnPort(app, address),
      new RegExp(`--listen ${address.replaceAll(/[[\].]/g, "\\$&")}: only loopback`),
    );
  }
});

test("listenOnPort() names a port that is taken", async () => {
  const listener = await listenOnPort(app, "127.0.0.1:0");
  const address = new URL(listener.address).host;
  await assert.rejects(listenOnPort(app, address), /EADDRINUSE/);
  await listener.close();
});

test("listenOnSocket() is private, replaces a dead socket, and leaves a living one alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "nckubelet-socket-"));
  const path = join(folder, "agent.sock");
  const first = await listenOnSocket(app, path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await assert.rejects(listenOnSocket(app, path), /another agent is serving it/);
  await first.close();
  await (await listenOnSocket(app, path)).close();
  await rm(folder, { recursive: true });
});

test("parseAddress() takes names, IPv4 and IPv6 apart, and quotes what it cannot", () => {
  assert.deepEqual(parseAddress("localhost:80"), { host: "localhost", port: 80 });
  assert.deepEqual(parseAddress("[::1]:80"), { host: "::1", port: 80 });
  for (const bad of ["80", "::1:80", "a:99999", ""]) {
    assert.throws(() => parseAddress(bad), new RegExp(JSON.stringify(bad).replaceAll(/[[\]]/g, "\\$&")));
  }
});
