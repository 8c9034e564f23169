/**
 * Talks to the kubelet API and the local endpoint over real connections, by the state of each protocol: legal and illegal orders, slow,
 * cut, huge, many (talk/conversations.ts). The servers run in a process of their own (talk/server.ts), so that only their event loop is
 * measured.
 *
 * Usage: node test/fuzz/talk.ts [--seconds 30] [--minutes 10] [--seed N] [--workers 24]
 *
 * What has to hold all the time: /healthz answers on both, the event loop is free, memory stays below a bound and comes back, and the
 * streams of an authorized client live. A finding names the seed; conversations are the same for the same seed, their timing is not.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { parseArgs } from "node:util";
import { sleep } from "../../src/lib/sleep.ts";
import { createRandom, deriveSeed } from "../random.ts";
import { SpdyClient } from "../server/spdy/client.ts";
import { waitFor } from "../wait-for.ts";
import { converse } from "./talk/conversations.ts";
import type { Measured, Opened, Question } from "./talk/server.ts";
import type { Ports } from "./talk/spdy-talker.ts";

/** How long the servers may keep their event loop: in 99 of 100 measurements of each second, and ever. */
const mostKeptMs = { p99: 200, max: 1000 };
/** Streams reserve at most 32 MiB; the rest is 512 connections with TLS, and garbage. */
const mostGrownBytes = 224 << 20;
/** What may stay: caches of answers, compiled code. */
const mostLeftBytes = 24 << 20;
/** A server that answers later than this does not answer. */
const answerMs = 10_000;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    minutes: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    workers: { type: "string", default: "24" },
  },
});
const seed = Number(values.seed);
const seconds = values.minutes === undefined ? Number(values.seconds) : 60 * Number(values.minutes);
process.exitCode = await main();

async function main(): Promise<number> {
  console.log(`seed ${seed}, ${seconds} s`);
  const server = fork(new URL("./talk/server.ts", import.meta.url), { stdio: "inherit" });
  const ended = once(server, "exit").then(([code, signal]) => `the server ended with ${signal ?? code}`);
  const [opened] = await once(server, "message") as [Opened];
  const targets = await openTargets();
  const problems: string[] = [];
  const end = new AbortController();
  const { signal } = end;
  const fail = (problem: string) => {
    if (signal.aborted) return;
    console.log(`  seed ${seed}: ${problem}`);
    problems.push(problem);
    end.abort();
  };
  void ended.then(fail);

  await sleep(2000);
  const quiet = await measure(server, "collect");
  // Before the others, which may take all memory that streams may use.
  const echoed = await openStream(opened, targets.ports.echo);
  const timer = setTimeout(() => end.abort(), 1000 * seconds);
  let conversations = 0;
  const workers = Array.from({ length: Number(values.workers) }, async () => {
    while (!signal.aborted) {
      await converse(createRandom(deriveSeed(seed, conversations++)), { ...opened, ports: targets.ports });
    }
  });
  const health = { count: 0, slowest: 0 };
  const watchers = [
    watchHealth(opened, health, signal),
    keepStream(echoed, signal),
  ].map((watcher) => watcher.catch((error: Error) => fail(error.message)));
  const kept: number[] = [];
  let rss = quiet.rss;
  while (!signal.aborted) {
    await sleep(1000, signal);
    if (!server.connected) break;
    const measured = await measure(server, "measure");
    kept.push(...measured.kept);
    rss = Math.max(rss, measured.rss);
    const [p99, max] = [percentile(measured.kept, 99), percentile(measured.kept, 100)];
    if (p99 > mostKeptMs.p99 || max > mostKeptMs.max) {
      fail(`the event loop was kept for ${max.toFixed(0)} ms`);
    }
    if (rss - quiet.rss > mostGrownBytes) fail(`memory grew by ${(rss - quiet.rss) >> 20} MiB`);
  }
  clearTimeout(timer);
  await Promise.all([...workers, ...watchers]);
  if (server.connected) {
    await checkAfterwards(server, quiet).catch((error: Error) => problems.push(error.message));
  }
  server.disconnect();
  targets.close();
  const figures = [
    `${conversations} conversations`,
    `${health.count} answers of /healthz, the slowest in ${health.slowest.toFixed(0)} ms`,
    `event loop kept p99 ${percentile(kept, 99).toFixed(1)} ms, at most ${
      percentile(kept, 100).toFixed(0)
    } ms`,
    `memory +${(rss - quiet.rss) >> 20} MiB`,
  ];
  console.log(`${problems.length === 0 ? "ok   " : "FOUND"} ${figures.join(", ")}`);
  for (const problem of problems) console.log(`  ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * percent / 100))] ?? 0;
}

async function measure(server: ChildProcess, question: Question): Promise<Measured> {
  const answer = once(server, "message");
  server.send(question);
  const [measured] = await answer;
  return measured;
}

/** When everyone has left, nothing may be left of them. */
async function checkAfterwards(server: ChildProcess, quiet: Measured): Promise<void> {
  await waitFor("no stream is left", async () => (await measure(server, "measure")).sessions === 0, 60_000);
  await waitFor(
    `no more than ${mostLeftBytes >> 20} MiB are left`,
    async () => (await measure(server, "collect")).live - quiet.live < mostLeftBytes,
    30_000,
  );
}

/** What clients reach through port-forwards. They live here, so that they cost the server nothing. */
async function openTargets(): Promise<{ ports: Ports; close(): void }> {
  const bytes = new Uint8Array(1 << 16);
  const fill = (socket: Socket) => {
    while (socket.writable && socket.write(bytes));
  };
  const listen = async (serve: (socket: Socket) => void) => {
    const server = createServer((socket) => serve(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  const servers = await Promise.all([
    listen((socket) => void socket.pipe(socket)),
    listen((socket) => fill(socket.on("drain", () => fill(socket)).resume())),
    listen((socket) => void socket.pause()),
  ]);
  const [echo = 0, flood = 0, deaf = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  const close = () => servers.forEach((server) => server.close().unref());
  return { ports: { echo, flood, deaf, closed: 9 }, close };
}

/** Asks both servers for their health again and again, each time on a new connection. */
async function watchHealth(
  { kubelet, local }: Opened,
  health: { count: number; slowest: number },
  signal: AbortSignal,
): Promise<void> {
  const options = { host: "127.0.0.1", path: "/healthz", agent: false as const, timeout: answerMs };
  const headers = { authorization: "Bearer good" };
  while (!signal.aborted) {
    for (const where of ["local endpoint", "kubelet API"]) {
      const start = performance.now();
      const call = where === "local endpoint"
        ? request({ ...options, port: local })
        : secureRequest({ ...options, port: kubelet, headers, rejectUnauthorized: false });
      call.on("timeout", () => call.destroy(new Error(`no answer in ${answerMs} ms`)));
      const [response] = await once(call.end(), "response").catch((error) => {
        throw new Error(`/healthz of the ${where}: ${error.message}`);
      });
      response.resume();
      if (response.statusCode !== 200) throw new Error(`/healthz of the ${where}: ${response.statusCode}`);
      await once(response, "end");
      health.count++;
      health.slowest = Math.max(health.slowest, performance.now() - start);
    }
    await sleep(100, signal);
  }
}

/** Opens one connection through one port-forward, to a port that echoes. */
async function openStream({ kubelet: port }: Opened, echo: number) {
  const headers = {
    connection: "Upgrade",
    upgrade: "SPDY/3.1",
    authorization: "Bearer good",
    "x-stream-protocol-version": "portforward.k8s.io",
  };
  const path = "/portForward/default/web";
  const options = { host: "127.0.0.1", port, path, method: "POST", headers, rejectUnauthorized: false };
  const call = secureRequest({ ...options, agent: false }).end();
  const [, socket] = await once(call, "upgrade", { signal: AbortSignal.timeout(answerMs) });
  const client = new SpdyClient(socket);
  const names = { port: String(echo), requestID: "1" };
  client.open({ ...names, streamType: "error" });
  return { client, data: client.open({ ...names, streamType: "data" }) };
}

/** Uses it all the time. */
async function keepStream(
  { client, data }: Awaited<ReturnType<typeof openStream>>,
  signal: AbortSignal,
): Promise<void> {
  using _ = { [Symbol.dispose]: () => client.socket.destroy() };
  for (let sent = 1; !signal.aborted; sent++) {
    data.write("x");
    await waitFor("the authorized stream echoes", () => {
      if (client.closed || data.reset !== undefined) throw new Error("the authorized stream has ended");
      return signal.aborted || data.length === sent;
    }, answerMs);
    await sleep(50, signal);
  }
}
