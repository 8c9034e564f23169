import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type HttpTarget, probeHttp } from "../../../src/supervisor/probes/http-probe.ts";
import { probeTcp } from "../../../src/supervisor/probes/tcp-probe.ts";
import { tempFolder } from "../../temp-folder.ts";

const host = "127.0.0.1";

async function listen(server: Server, address = host) {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  server.listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port, [Symbol.asyncDispose]: close };
}

const serve = (answer: RequestListener) => listen(createHttpServer(answer));
const ask = (port: number, fields: Partial<HttpTarget> = {}, timeoutMs = 5000) =>
  probeHttp({ host, port, path: "/", scheme: "HTTP", headers: [], ...fields }, timeoutMs);

test("a status of 200 to 399 is success, and the message names any other", async () => {
  await using server = await serve((request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { location: "http://192.0.2.1/" });
    response.end();
  });
  for (const status of [200, 204, 301, 302, 399]) {
    assert.equal((await ask(server.port, { path: `/${status}` })).ok, true, `${status}`);
  }
  for (const status of [400, 401, 404, 500, 503]) {
    assert.deepEqual(await ask(server.port, { path: `/${status}` }), {
      ok: false,
      message: `HTTP probe failed with statuscode: ${status}`,
    });
  }
});

test("path, query and headers are sent as given, including a Host header", async () => {
  let seen: IncomingMessage | undefined;
  await using server = await serve((request, response) => {
    seen = request;
    response.end();
  });
  const headers = [{ name: "Host", value: "shop.example" }, { name: "X-Probe", value: "1" }, {
    name: "X-Probe",
    value: "2",
  }];
  await ask(server.port, { path: "/ready?full=1", headers });
  assert.deepEqual([seen?.url, seen?.headers.host, seen?.headers["x-probe"]], [
    "/ready?full=1",
    "shop.example",
    "1, 2",
  ]);
});

test("an app that accepts but never answers fails with the address, and so does one that sends garbage", async () => {
  await using silent = await listen(createServer());
  assert.match(
    (await ask(silent.port, {}, 50)).message,
    /^Get "http:\/\/127\.0\.0\.1:\d+\/": no answer in 0\.05 s$/,
  );
  await using garbage = await listen(
    createServer((socket) => void socket.end("what?\r\n\r\n")),
  );
  const { ok, message } = await ask(garbage.port);
  assert.deepEqual([ok, message.startsWith('Get "http://127.0.0.1')], [false, true]);
});

test("a probe does not wait for the end of the body", async () => {
  await using server = await serve((_request, response) => void response.write("first of many"));
  assert.equal((await ask(server.port)).ok, true);
});

test("an HTTPS probe does not verify the certificate", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const [key, cert] = [join(folder, "key"), join(folder, "cert")];
  const words = [
    ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=wrong".split(" "),
    ...["-keyout", key, "-out", cert],
  ];
  execFileSync("openssl", words, { stdio: "ignore" });
  await using server = await listen(
    createHttpsServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (_request, response) => void response.end(),
    ),
  );
  assert.equal((await ask(server.port, { scheme: "HTTPS" })).ok, true);
});

test("a TCP probe succeeds on an open port and fails on a closed one", async () => {
  const server = await listen(createServer());
  assert.deepEqual(await probeTcp({ host, port: server.port }, 5000), { ok: true, message: "connected" });
  await server[Symbol.asyncDispose]();
  const { ok, message } = await probeTcp({ host, port: server.port }, 5000);
  assert.equal(ok, false);
  assert.match(message, /^dial tcp 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
});

test(
  "an IPv6 address is accepted with and without brackets, and the Host header and messages have them",
  {
    skip: !networkInterfaces().lo?.some(({ address }) => address === "::1"),
  },
  async () => {
    const hosts: unknown[] = [];
    const answer: RequestListener = (request, response) => {
      hosts.push(request.headers.host);
      response.end();
    };
    const forms = ["::1", "[::1]"];
    const probeBoth = async () => {
      await using server = await listen(createHttpServer(answer), "::1");
      const { port } = server;
      for (const host of forms) {
        assert.equal((await ask(port, { host })).ok, true);
        assert.equal((await probeTcp({ host, port }, 5000)).ok, true);
      }
      return port;
    };
    const port = await probeBoth();
    assert.deepEqual(hosts, [`[::1]:${port}`, `[::1]:${port}`]);
    for (const host of forms) {
      assert.ok((await ask(port, { host })).message.startsWith(`Get "http://[::1]:${port}/": `));
      assert.ok((await probeTcp({ host, port }, 5000)).message.startsWith(`dial tcp [::1]:${port}: `));
    }
  },
);

test("a port above 65535 is a failure", async () => {
  for (const { ok, message } of [await ask(70_000), await probeTcp({ host, port: 70_000 }, 5000)]) {
    assert.equal(ok, false);
    assert.match(message, /70000/);
  }
});
