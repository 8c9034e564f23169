import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { createTestLog } from "../../report/test-log.ts";
import { enterable } from "../../supervisor/run/enterable-run.ts";
import type { AppView } from "../../../src/server/view.ts";
import { defaultClientLimits, type KubeletServices } from "../../../src/server/kubelet/kubelet.ts";
import type { ClientLimits } from "../../../src/server/kubelet/services.ts";
import { createStreamMemory } from "../../../src/server/kubelet/stream-memory.ts";
import { servePortForward } from "../../../src/server/kubelet/port-forward.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { viewWith, web } from "../fake-agent.ts";
import { SpdyClient } from "../spdy/client.ts";
import { askForStreams, openStreams, startKubelet } from "./stream-client.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";

const skip = skipUnless("compilers");
const outputs = ["error", "stdout", "stderr"];
/** The usual period would make each client that vanishes take 10 s. */
const streamLimits = { pausedPingMs: 100 };

/** A node with one app, which has this run. */
const viewOf = (run: AppView["run"]) =>
  viewWith({
    app: (_, name) => name === "web" ? { ...web, run, status: { ...web.status, pid: 4321 } } : undefined,
  });

/** A kubelet API with one app that can be entered. */
async function running(limits: Partial<ClientLimits> = {}, more: Partial<KubeletServices> = {}) {
  const run = await enterable();
  const kubelet = await startKubelet({
    view: viewOf({ id: run.runId, folder: run.folder }),
    launcher: entranceOf(await builtLauncher()),
    streamLimits,
    limits: { ...defaultClientLimits(), ...limits },
    ...more,
  });
  const path = (words: string[], query = "output=1&error=1") =>
    `/exec/default/web/app?${words.map((word) => `command=${encodeURIComponent(word)}`).join("&")}&${query}`;
  return {
    ...kubelet,
    path,
    run,
    exec: (words: string[], types = outputs, query?: string) =>
      openStreams(kubelet.port, path(words, query), types),
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]();
      run[Symbol.dispose]();
    },
  };
}

/** The processes that were started for this run. */
async function execsOf(runId: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const marked = await Promise.all(pids.map(async (pid) => {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    return environment.includes(`NCAPP_VISITOR=${runId}`) ? [Number(pid)] : [];
  }));
  return marked.flat();
}

/** The result, without what every result begins with. */
function resultOf(text: string): object {
  const { note, ...result } = JSON.parse(text);
  assert.equal(note, "the agent of the node ended before the command");
  return result;
}

test(
  "exec begins its result with the command, so that an agent that is killed leaves half of one, which is an error",
  {
    skip,
  },
  async () => {
    await using kubelet = await running();
    const { streams } = await kubelet.exec(["sh", "-c", "echo up; sleep 600"]);
    await waitFor("the command runs", () => streams.stdout!.text() === "up\n");
    assert.match(streams.error!.text(), /ended before the command/);
    assert.throws(() => JSON.parse(streams.error!.text()), SyntaxError);
  },
);

test("exec tells the exit code as Status, after all output", { skip }, async () => {
  await using kubelet = await running();
  const { client, streams } = await kubelet.exec(["sh", "-c", "echo out; echo err >&2; exit 7"]);
  await waitFor("the result", () => streams.error!.ended && streams.stdout!.ended && streams.stderr!.ended);
  assert.deepEqual([streams.stdout!.text(), streams.stderr!.text()], ["out\n", "err\n"]);
  assert.deepEqual(resultOf(streams.error!.text()), {
    metadata: {},
    status: "Failure",
    message: "command terminated with non-zero exit code: exit status 7",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "7" }] },
  });
  await waitFor("goodbye", () => client.goAway);
  client.socket.destroy();
  const asked = await kubelet.exec(["sh", "-c", "echo $NCAPP_PID"]);
  await waitFor("its output", () => asked.streams.stdout!.ended);
  assert.equal(asked.streams.stdout!.text(), "4321\n");
  const fine = await kubelet.exec(["true"]);
  await waitFor("the result", () => fine.streams.error!.ended);
  assert.deepEqual(resultOf(fine.streams.error!.text()), { metadata: {}, status: "Success" });
  await waitFor("no client is left", () => kubelet.services.limits.sessions.now === 0);
});

test("the input ends with its stream, and a command that reads none of it does not block the client", {
  skip,
}, async () => {
  await using kubelet = await running();
  const types = ["error", "stdin", "stdout"];
  const query = "input=1&output=1";
  const bytes = randomBytes(3 << 20);
  const { streams } = await kubelet.exec(["sha256sum"], types, query);
  for (let at = 0; at < bytes.length; at += 50_000) streams.stdin!.write(bytes.subarray(at, at + 50_000));
  streams.stdin!.end();
  await waitFor("the result", () => streams.error!.ended);
  assert.equal(streams.stdout!.text().split(" ")[0], createHash("sha256").update(bytes).digest("hex"));
  const deaf = await kubelet.exec(["sh", "-c", "exec <&-; sleep 600"], types, query);
  for (let at = 0; at < bytes.length; at += 50_000) {
    deaf.streams.stdin!.write(bytes.subarray(at, at + 50_000));
  }
  deaf.client.send({ type: "ping", id: 1 });
  await waitFor("all is read", () => deaf.client.pings.includes(1), 20_000);
  deaf.client.socket.destroy();
});

test("an input that the client resets ends for the command, too", { skip }, async () => {
  await using kubelet = await running();
  const types = ["error", "stdin", "stdout"];
  const { client, streams } = await kubelet.exec(["sh", "-c", "cat; echo end"], types, "input=1&output=1");
  client.send({ type: "reset", stream: streams.stdin!.id, status: 5 });
  await waitFor("the result", () => streams.error!.ended, 20_000);
  assert.equal(streams.stdout!.text(), "end\n");
  client.socket.destroy();
});

test("an input that the client resets before the command is started ends for it, too", { skip }, async () => {
  await using kubelet = await running();
  const path = kubelet.path(["sh", "-c", "cat; echo end"], "input=1&output=1");
  const client = await askForStreams(kubelet.port, path);
  assert.ok(client instanceof SpdyClient);
  const [error, stdin, stdout] = ["error", "stdin", "stdout"].map((streamType) =>
    client.open({ streamType })
  );
  client.send({ type: "reset", stream: stdin!.id, status: 5 });
  await waitFor("the result", () => error!.ended, 20_000);
  assert.equal(stdout!.text(), "end\n");
  client.socket.destroy();
});

test("a command whose background process keeps its output open ends nevertheless", { skip }, async () => {
  await using kubelet = await running();
  const { streams } = await kubelet.exec(["sh", "-c", "sleep 600 & echo started $!"]);
  await waitFor("the result", () => streams.error!.ended, 20_000);
  assert.match(streams.stdout!.text(), /^started \d+\n$/);
  process.kill(Number(/\d+/.exec(streams.stdout!.text())![0]));
});

test("a slow client gets all output, and the command waits for it", { skip }, async () => {
  await using kubelet = await running();
  const size = 30_000_000;
  const client = await askForStreams(kubelet.port, kubelet.path(["head", "-c", String(size), "/dev/zero"]));
  assert.ok(client instanceof SpdyClient);
  const streams = outputs.map((streamType) => client.open({ streamType }));
  await client.replied();
  client.socket.pause();
  await waitFor("the command waits", async () => (await execsOf(kubelet.run.runId)).length === 1);
  client.socket.resume();
  await waitFor("all is there", () => streams[0]!.ended);
  assert.equal(streams[1]!.length, size);
});

test("a client that vanishes, or opens too few streams, leaves no command behind", { skip }, async () => {
  await using kubelet = await running();
  const { client } = await kubelet.exec(["sh", "-c", "sleep 600 & sleep 600"]);
  await waitFor("it runs", async () => (await execsOf(kubelet.run.runId)).length >= 2);
  client.socket.destroy();
  await waitFor("nothing is left", async () => (await execsOf(kubelet.run.runId)).length === 0);
  const half = await askForStreams(kubelet.port, kubelet.path(["sleep", "600"]));
  assert.ok(half instanceof SpdyClient);
  half.open({ streamType: "error" });
  await half.replied();
  half.socket.destroy();
  await waitFor("no client is left", () => kubelet.services.limits.sessions.now === 0);
  assert.deepEqual(await execsOf(kubelet.run.runId), []);
});

test("what a command starts when it is told to end is ended, too", { skip }, async () => {
  using temp = tempFolder();
  const file = join(temp.path, "started");
  await using kubelet = await running();
  const onEnd = `sleep 600 & echo $! >${file}.new; mv ${file}.new ${file}; exit`;
  const { client, streams } = await kubelet.exec([
    "sh",
    "-c",
    `exec 2>/dev/null; trap '${onEnd}' HUP; trap '' TERM; echo ready; while :; do sleep 0.1; done`,
  ]);
  await waitFor("it runs", () => streams.stdout!.text() === "ready\n");
  client.socket.destroy();
  const pid = await waitFor("the last one", () => readFile(file, "utf8").catch(() => undefined));
  await waitFor("nothing is left", () => readStat(Number(pid)) === undefined);
});

test("a command ends with the rights of its client, who is told", { skip }, async () => {
  let isAllowed = true;
  await using kubelet = await running({}, {
    authorize: async () => isAllowed ? "allowed" : "forbidden",
    recheckMs: 20,
  });
  const { streams } = await kubelet.exec(["sh", "-c", "sleep 600 & sleep 600"]);
  await waitFor("it runs", async () => (await execsOf(kubelet.run.runId)).length >= 2);
  isAllowed = false;
  await waitFor("the result", () => streams.error!.ended);
  assert.match(JSON.parse(streams.error!.text()).message, /^user "writer" may not create nodes\/proxy$/);
  await waitFor("nothing is left", async () => (await execsOf(kubelet.run.runId)).length === 0);
});

test("commands end when the listener is closed", { skip }, async () => {
  await using kubelet = await running();
  const { client } = await kubelet.exec(["sh", "-c", "sleep 600 & sleep 600"]);
  await waitFor("it runs", async () => (await execsOf(kubelet.run.runId)).length >= 2);
  await kubelet.close();
  await waitFor("nothing is left", async () => (await execsOf(kubelet.run.runId)).length === 0);
  await waitFor("the client learns it", () => client.closed);
});

test("a client that vanishes while its input waits is noticed", { skip, timeout: 90_000 }, async () => {
  await using kubelet = await running();
  const { client, streams } = await kubelet.exec(
    ["sleep", "600"],
    ["error", "stdin", "stdout"],
    "input=1&output=1",
  );
  streams.stdin!.write(Buffer.alloc(2 << 20));
  await waitFor("it runs", async () => (await execsOf(kubelet.run.runId)).length === 1);
  client.socket.destroy();
  await waitFor("it is gone", async () => (await execsOf(kubelet.run.runId)).length === 0, 80_000);
});

test("streams of another type, or twice the same, are refused", { skip }, async () => {
  await using kubelet = await running();
  const client = await askForStreams(kubelet.port, kubelet.path(["sleep", "600"]));
  assert.ok(client instanceof SpdyClient);
  const [first, again, strange] = ["error", "error", "stdin"].map((streamType) =>
    client.open({ streamType })
  );
  await waitFor("the refusals", () => again!.reset === 3 && strange!.reset === 3);
  assert.ok(first!.replied);
  client.socket.destroy();
});

test("what cannot be served is refused before the connection becomes a stream", { skip }, async () => {
  await using kubelet = await running();
  const status = async (path: string, options: Parameters<typeof askForStreams>[2] = {}) => {
    const answer = await askForStreams(kubelet.port, path, options);
    if (answer instanceof SpdyClient) throw new Error("it was accepted");
    return [answer.status, JSON.parse(answer.body).message];
  };
  const path = kubelet.path(["id"]);
  assert.equal((await status(path, { token: "viewer" }))[0], 403);
  assert.equal((await status(path, { token: "who" }))[0], 401);
  assert.deepEqual(await status(path, { protocol: "v1.channel.k8s.io" }), [
    403,
    "the client speaks v1.channel.k8s.io, the agent v5.channel.k8s.io, v4.channel.k8s.io",
  ]);
  assert.equal((await status("/exec/default/gone/app?command=id&output=1"))[0], 404);
  assert.deepEqual(await status(path, { headers: { upgrade: "websocket" } }), [
    400,
    "/exec/default/web/app needs the headers Connection: Upgrade and Upgrade: SPDY/3.1",
  ]);
  kubelet.services.limits.sessions.now = 256;
  assert.equal((await status(path))[0], 429);
});

test("a malformed request for streams is answered, and leaves nothing in the agent's log", async () => {
  const log = createTestLog();
  await using kubelet = await startKubelet({ log });
  const malformed = [["GET", "//[", "no[de"], ["POST", "/exec/default/web/app", ""]];
  for (const [method, path, host] of malformed) {
    const socket = connect(kubelet.port, "127.0.0.1");
    const start = `${method} ${path} HTTP/1.1\r\nHost: ${host}`;
    socket.write(`${start}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) text += chunk;
    assert.match(text, /^HTTP\/1.1 400 [^]*the request is malformed/, start);
  }
  assert.deepEqual(log.lines, []);
});

test("who asks for another protocol where there is none is refused, after the checks of every request", async () => {
  await using kubelet = await startKubelet();
  const ask = async (path: string, token: string) => {
    const socket = connect(kubelet.port, "127.0.0.1");
    const headers = [`Authorization: Bearer ${token}`, "Connection: Upgrade", "Upgrade: SPDY/3.1"];
    socket.write([`GET ${path} HTTP/1.1`, "Host: node", ...headers, "", ""].join("\r\n"));
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) text += chunk;
    return text;
  };
  assert.match(await ask("/healthz", "health"), /^HTTP\/1.1 400 [^]*not \/healthz/);
  assert.match(await ask("/healthz", "viewer"), /^HTTP\/1.1 403 /);
  assert.match(await ask("/nowhere", "who"), /^HTTP\/1.1 401 [^]*www-authenticate: Bearer/i);
  assert.match(await ask("/exec/default/web/app", "reader"), /^HTTP\/1.1 405 [^]*allow: POST/i);
});

test("a request for streams that overtakes another of its connection ends the connection, not the agent", {
  timeout: 20_000,
}, async () => {
  const authorized = Promise.withResolvers<"allowed">();
  let asked = 0;
  await using kubelet = await startKubelet({ authorize: () => (asked++, authorized.promise) });
  const socket = connect(kubelet.port, "127.0.0.1").on("error", () => {}).resume();
  const head = ["Host: node", "Authorization: Bearer writer"];
  const upgrade = [
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    "X-Stream-Protocol-Version: portforward.k8s.io",
  ];
  const first = ["GET /pods HTTP/1.1", ...head, "", ""];
  const second = ["POST /portForward/default/web HTTP/1.1", ...head, ...upgrade, "", ""];
  socket.write([...first, ...second].join("\r\n"));
  await once(socket, "close");
  authorized.resolve("allowed");
  assert.equal(asked, 1, "the second is not even asked about");
  const answer = await fetch(`http://127.0.0.1:${kubelet.port}/healthz`);
  assert.equal(answer.status, 401);
});

test("clients that are authorized at the same moment do not exceed the limit", async () => {
  const authorized = Promise.withResolvers<"allowed">();
  let asked = 0;
  await using kubelet = await startKubelet({ authorize: () => (asked++, authorized.promise) });
  kubelet.services.limits.sessions.now = 254;
  const answers = Promise.all(
    Array.from(
      { length: 4 },
      () => askForStreams(kubelet.port, "/portForward/default/web", { protocol: "portforward.k8s.io" }),
    ),
  );
  await waitFor("all are asked about", () => asked === 4);
  authorized.resolve("allowed");
  const refused = (await answers).map((answer) => answer instanceof SpdyClient ? undefined : answer.status);
  assert.deepEqual(refused.filter(Boolean), [429, 429]);
  for (const answer of await answers) if (answer instanceof SpdyClient) answer.socket.destroy();
  await waitFor("the clients have left", () => kubelet.services.limits.sessions.now === 254);
});

test("a client that leaves before it is accepted keeps no place", async () => {
  const authorized = Promise.withResolvers<"allowed">();
  const asked = Promise.withResolvers<void>();
  await using kubelet = await startKubelet({ authorize: () => (asked.resolve(), authorized.promise) });
  const [path, protocol] = ["/portForward/default/web", "portforward.k8s.io"];
  const head = [`POST ${path} HTTP/1.1`, "Host: node", "Connection: Upgrade", "Upgrade: SPDY/3.1"];
  const rest = ["Authorization: Bearer writer", `X-Stream-Protocol-Version: ${protocol}`, "", ""];
  const socket = connect(kubelet.port, "127.0.0.1");
  socket.write([...head, ...rest].join("\r\n"));
  await asked.promise;
  socket.resetAndDestroy();
  await once(socket, "close");
  authorized.resolve("allowed");
  const next = await askForStreams(kubelet.port, path, { protocol });
  assert.ok(next instanceof SpdyClient);
  await waitFor("only the second is left", () => kubelet.services.limits.sessions.now === 1);
  next.socket.destroy();
});

test("a command that cannot be entered is a failure with its reason", { skip }, async () => {
  await using kubelet = await startKubelet({ view: viewOf({ id: "x", folder: "/no/such/run" }) });
  const { streams } = await openStreams(kubelet.port, "/exec/default/web/app?command=id&output=1", [
    "error",
    "stdout",
  ]);
  await waitFor("the result", () => streams.error!.ended);
  const { status, reason, message } = JSON.parse(streams.error!.text());
  assert.deepEqual([status, reason], ["Failure", "InternalError"]);
  assert.match(message, /ENOENT/);
});

test("200 commands run at once, within bounded memory, and end with their clients", { skip }, async () => {
  // More than a node's listener has.
  const memory = createStreamMemory(256 << 20);
  await using kubelet = await running({ memory });
  const before = process.memoryUsage().rss;
  const sessions = await Promise.all(
    Array.from(
      { length: 200 },
      () =>
        kubelet.exec(["sh", "-c", "cat; exec sleep 600"], ["error", "stdin", "stdout"], "input=1&output=1"),
    ),
  );
  for (const { streams } of sessions) streams.stdin!.write(Buffer.alloc(20_000));
  await waitFor("all answer", () => sessions.every(({ streams }) => streams.stdout!.length === 20_000));
  assert.equal(kubelet.services.limits.sessions.now, 200);
  const grown = (process.memoryUsage().rss - before) / (1 << 20);
  // Both ends of every connection are in this process.
  assert.ok(grown < 200, `${grown.toFixed(0)} MB for 200 sessions and their clients`);
  for (const { client } of sessions) client.socket.destroy();
  await waitFor("nothing is left", async () => (await execsOf(kubelet.run.runId)).length === 0);
  await waitFor("no client is left", () => kubelet.services.limits.sessions.now === 0);
});

test("attach follows what the app writes from now on, and ends with its run", { skip }, async () => {
  using temp = tempFolder();
  const logFile = firstPart(join(temp.path, "default_web"));
  await mkdir(join(temp.path, "default_web"));
  await writeFile(logFile, "before\n");
  const listeners: ((key: string) => void)[] = [];
  let runId = "one";
  await using kubelet = await startKubelet({
    view: viewWith({
      app: () => ({ ...web, logFile, run: { id: runId, folder: "" } }),
      onChange: (listener) => {
        listeners.push(listener);
        return () => {};
      },
    }),
  });
  const { streams } = await openStreams(kubelet.port, "/attach/default/web/app?input=1&output=1&error=1", [
    "error",
    "stdin",
    "stdout",
    "stderr",
  ]);
  streams.stdin!.write("nobody reads this\n");
  await waitFor("the new line", async () => {
    if (streams.stdout!.length > 0) return true;
    await appendFile(logFile, "after\n");
  });
  assert.match(streams.stdout!.text(), /^(after\n)+$/);
  appendFileSync(logFile, "last words\n");
  runId = "two";
  for (const listener of listeners) listener("default/web");
  await waitFor("the end", () => streams.error!.ended);
  assert.match(streams.stdout!.text(), /^(after\n)+last words\n$/);
  assert.equal(JSON.parse(streams.error!.text()).status, "Success");
});

test("port-forward pairs streams by their id, passes both ways, half-closes, and says what goes wrong", {
  skip,
}, async () => {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk) => text += chunk);
    socket.on("end", () => socket.end(`got ${text.length}`));
    socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using kubelet = await startKubelet();
  const client = await askForStreams(kubelet.port, "/portForward/default/web", {
    protocol: "portforward.k8s.io",
  });
  assert.ok(client instanceof SpdyClient);
  const pair = (requestID: number, to: number) => {
    const headers = { port: String(to), requestID: String(requestID) };
    const error = client.open({ ...headers, streamType: "error" });
    error.end();
    return { error, data: client.open({ ...headers, streamType: "data" }) };
  };
  const pairs = Array.from({ length: 50 }, (_, at) => pair(at, port));
  for (const [at, { data }] of pairs.entries()) {
    data.write("x".repeat(at * 1000));
    data.end();
  }
  await waitFor("all answers", () => pairs.every(({ data, error }) => data.ended && error.ended));
  assert.deepEqual(pairs.map(({ data }) => data.text()), pairs.map((_, at) => `got ${at * 1000}`));
  const refused = pair(99, 9);
  await waitFor("the reason", () => refused.error.ended && refused.data.ended);
  assert.equal(refused.error.text(), "cannot connect to port 9 of this node: ECONNREFUSED");
  const open = pair(100, port);
  open.data.write("hello");
  await waitFor("another connection", () => sockets.length === 51);
  client.socket.destroy();
  await once(sockets[50]!, "close");
  server.close();
});

test("port-forward keeps no connection to an app that reads nothing after its client has left", async () => {
  const listen = async (options = {}) => {
    const server = createServer(options).listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "connection") as Promise<[Socket]>;
    return { port: (server.address() as AddressInfo).port, accepted, [Symbol.dispose]: () => server.close() };
  };
  using deaf = await listen({ pauseOnConnect: true });
  using kubelet = await listen();
  const client = new SpdyClient(connect(kubelet.port, "127.0.0.1"));
  const served = servePortForward((await kubelet.accepted)[0], { closeMs: 100, limits: streamLimits });
  const headers = { port: String(deaf.port), requestID: "0" };
  client.open({ ...headers, streamType: "error" });
  client.open({ ...headers, streamType: "data" }).write(Buffer.alloc(16_000_000));
  const [app] = await deaf.accepted;
  let [last, same] = [-1, 0];
  await waitFor("nothing moves", () => {
    const left = client.socket.writableLength;
    same = left === last ? same + 1 : 0;
    last = left;
    return same > 20;
  });
  assert.ok(last > 0);
  client.socket.destroy();
  await served;
  // A connection that is gone at its other end refuses what is written to it.
  const failed = once(app, "error");
  await waitFor("it is gone", () => {
    app.write("x");
    return app.destroyed;
  }, 20_000);
  await failed;
});

test("/run answers with the output of a command", { skip }, async () => {
  await using kubelet = await running();
  const run = async (cmd: string) => {
    const url = `http://127.0.0.1:${kubelet.port}/run/default/web/app?cmd=${encodeURIComponent(cmd)}`;
    const answer = await fetch(url, { method: "POST", headers: { authorization: "Bearer writer" } });
    return [answer.status, await answer.text()] as const;
  };
  assert.deepEqual(await run("echo a b"), [200, "a b\n"]);
  const [status, text] = await run("ls /no/such/folder");
  assert.equal(status, 500);
  assert.match(text, /the command ended with status 2: .*No such file/);
  assert.equal((await run(""))[0], 400);
});

test("a command of /run takes a place, and ends with its client", { skip }, async () => {
  await using kubelet = await running();
  const gone = new AbortController();
  const run = (signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${kubelet.port}/run/default/web/app?cmd=sleep+600`, {
      method: "POST",
      headers: { authorization: "Bearer writer" },
      signal,
    });
  const sleeping = run(gone.signal).catch(() => {});
  await waitFor("it runs", async () => (await execsOf(kubelet.run.runId)).length === 1);
  assert.equal(kubelet.services.limits.sessions.now, 1);
  kubelet.services.limits.sessions.now = 256;
  const refused = await run();
  assert.equal(refused.status, 429, await refused.text());
  kubelet.services.limits.sessions.now = 1;
  gone.abort();
  await sleeping;
  await waitFor("nothing is left", async () => (await execsOf(kubelet.run.runId)).length === 0);
  await waitFor("no client is left", () => kubelet.services.limits.sessions.now === 0);
});
