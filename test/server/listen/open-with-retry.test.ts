import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Hono } from "hono";
import { createAgentClient } from "../../../src/cli/agent-api/agent-api.ts";
import { listenOnPort, openWithRetry, type PortProblems } from "../../../src/server/listen/listen.ts";
import { server as pair } from "../../kube/access/certificates.ts";
import { createTestLog } from "../../report/test-log.ts";
import { waitFor } from "../../wait-for.ts";
import { startLocalAgent } from "../local-agent.ts";

const app = new Hono().get("/", (context) => context.text("here"));
const often = { next: () => 1, reset() {} };

/** Another process's server on a port of loopback, until it is freed. */
async function takePort() {
  const taker = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1").unref();
  await once(taker, "listening");
  return {
    port: (taker.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      if (!taker.listening) return;
      taker.close();
      await once(taker, "close");
    },
  };
}

test("openWithRetry() logs a taken port once, retries, and serves as soon as it is free", async () => {
  await using taken = await takePort();
  const [address, log, problems, served] = [
    `127.0.0.1:${taken.port}`,
    createTestLog(),
    new Map() as PortProblems,
    [] as string[],
  ];
  let attempts = 0;
  const open = () => {
    attempts++;
    return listenOnPort(app, address);
  };
  const listener = await openWithRetry(address, open, {
    log,
    problems,
    onOpen: (found) => void served.push(found),
    backoff: often,
  });
  await waitFor("it retries", () => attempts > 3);
  assert.deepEqual(log.lines, ["error cannot serve on an address; retrying"]);
  assert.deepEqual([...problems], [[
    address,
    `--listen ${address}: EADDRINUSE: another process uses the port`,
  ]]);
  await taken[Symbol.asyncDispose]();
  await waitFor("it serves", () => served.length > 0);
  assert.equal(await (await fetch(`${served[0]}`)).text(), "here");
  assert.equal(problems.size, 0);
  await listener.close();
});

test("openWithRetry() throws what no retry can help, and stops retrying when it is closed", async () => {
  const options = { log: createTestLog(), problems: new Map(), onOpen() {}, backoff: often };
  await assert.rejects(
    openWithRetry("0.0.0.0:1", () => listenOnPort(app, "0.0.0.0:1"), options),
    /only loopback addresses/,
  );
  await using taken = await takePort();
  const address = `127.0.0.1:${taken.port}`;
  let attempts = 0;
  const listener = await openWithRetry(address, () => (attempts++, listenOnPort(app, address)), options);
  await waitFor("it retries", () => attempts > 1);
  await listener.close();
  const before = attempts;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(attempts, before);
});

test("an agent whose ports are taken serves its socket, reports the ports, and opens them when they are free", async () => {
  await using plain = await takePort();
  await using outside = await takePort();
  await using agent = await startLocalAgent({ listen: "" });
  const [certFile, keyFile, tokenFile] = ["tls.crt", "tls.key", "tokens"].map((name) =>
    join(agent.folder, name)
  );
  await writeFile(certFile!, pair.cert);
  await writeFile(keyFile!, pair.key);
  await writeFile(tokenFile!, "the-token-of-the-monitors", { mode: 0o600 });
  Object.assign(agent.options, {
    listen: `127.0.0.1:${plain.port},0.0.0.0:${outside.port}`,
    tlsCertFile: certFile,
    tlsKeyFile: keyFile,
    tokenFile,
  });
  await agent.replace();
  assert.deepEqual(agent.addresses(), [agent.options.socket]);

  const unready = await agent.ask("GET", "/readyz");
  assert.equal(unready.status, 503);
  assert.match(
    unready.text,
    new RegExp(
      `^\\[-\\]listen failed: --listen 127\\.0\\.0\\.1:${plain.port}: EADDRINUSE: .*; --listen 0\\.`,
      "m",
    ),
  );
  const { checks } = await createAgentClient(agent.options.socket).status();
  assert.equal(checks.find(({ name }) => name === "listen")?.ok, false, "doctor shows it");
  assert.equal(JSON.parse((await agent.ask("GET", "/apps")).text).kind, "NCAppList");

  await plain[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
  await waitFor("both ports are served", () => agent.addresses().length === 3);
  assert.equal((await fetch(`http://127.0.0.1:${plain.port}/healthz`)).status, 200);
  assert.match((await agent.ask("GET", "/readyz?verbose")).text, /^\[\+\]listen ok/m);
});
