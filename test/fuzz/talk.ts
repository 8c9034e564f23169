/**
 * Talks to the kubelet API and the local endpoint over real connections, by the state of each protocol: legal and illegal orders, slow,
 * cut, huge, many (talk/conversations.ts). The servers run in a process of their own (talk/server.ts), so that only their event loop is
 * measured; another one like it is left alone, and a third process asks both for their health (talk/probe.ts).
 *
 * Usage: node test/fuzz/talk.ts [--seconds 30] [--minutes 10] [--seed N] [--workers 24] [--only CONVERSATION]...
 *
 * What has to hold all the time: /healthz answers, 99 of 100 times within 200 ms; on a busy machine as much later as the agent had to wait
 * for a core, or ten times as late as the quiet agent does. The event loop is free, memory stays below a bound and comes back, and the
 * streams of an authorized client live. The fuzzer has the lowest priority: hostile clients have machines of their own. A finding names
 * the seed; conversations are the same for the same seed, their timing is not.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { request as secureRequest } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { constants, setPriority } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { sleep } from "../../src/lib/sleep.ts";
import { createRandom, deriveSeed } from "../random.ts";
import { SpdyClient } from "../server/spdy/client.ts";
import { waitFor } from "../wait-for.ts";
import { converse, subjects } from "./talk/conversations.ts";
import type { Answers, Asked, Report } from "./talk/probe.ts";
import type { Measured, Opened, Question } from "./talk/server.ts";
import type { Ports } from "./talk/spdy-talker.ts";

/** How long 99 of 100 answers of /healthz may take on a core of its own, or how many times as long as those of the quiet agent. */
const slowest = { ms: 200, ratio: 10 };
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
    only: { type: "string", multiple: true, default: subjects() },
  },
});
const seed = Number(values.seed);
const seconds = values.minutes === undefined ? Number(values.seconds) : 60 * Number(values.minutes);
process.exitCode = await main();

async function main(): Promise<number> {
  console.log(`seed ${seed}, ${seconds} s`);
  const [server, quietServer, probe] = ["server", "server", "probe"].map((name) =>
    fork(new URL(`./talk/${name}.ts`, import.meta.url), { stdio: "inherit" })
  ) as [ChildProcess, ChildProcess, ChildProcess];
  const ended = Promise.race([server, quietServer, probe].map((child) => once(child, "exit")))
    .then(([code, signal]) => `a server, or the probe, ended with ${signal ?? code}`);
  const [[opened], [untouched]] = await Promise.all(
    [server, quietServer].map((child) => once(child, "message")),
  ) as [[Opened], [Opened]];
  setPriority(constants.priority.PRIORITY_LOW);
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
      const place = { ...opened, ports: targets.ports };
      await converse(createRandom(deriveSeed(seed, conversations++)), place, values.only);
    }
  });
  probe.send({ attacked: opened, quiet: untouched } satisfies Asked);
  probe.on("message", (report: Report) => "problem" in report && fail(report.problem));
  const watching = keepStream(echoed, signal).catch((error: Error) => fail(error.message));
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
  const answers = problems.length === 0 ? await answersOf(probe) : { attacked: [], quiet: [] };
  const last = server.connected ? await measure(server, "measure") : quiet;
  const [ran, waited] = [last.ran - quiet.ran, last.waited - quiet.waited];
  const share = ran / (ran + waited) || 1;
  const slow = checkHealth(answers, share);
  if (slow) problems.push(slow);
  probe.disconnect();
  quietServer.disconnect();
  await Promise.all([...workers, watching]);
  if (server.connected) {
    await checkAfterwards(server, quiet).catch((error: Error) => problems.push(error.message));
  }
  server.disconnect();
  targets.close();
  const figures = [
    `${conversations} conversations`,
    `/healthz ${describeHealth(answers)}`,
    `event loop kept p99 ${percentile(kept, 99).toFixed(1)} ms, at most ${
      percentile(kept, 100).toFixed(0)
    } ms`,
    `a core for ${(100 * share).toFixed(0)}% of the time that it had work`,
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

async function answersOf(probe: ChildProcess): Promise<Answers> {
  const report = once(probe, "message");
  probe.send("report");
  const [found] = await report as [Report];
  return "answers" in found ? found.answers : { attacked: [], quiet: [] };
}

/** What is wrong with the answers of /healthz. `share` is how much of the time that the agent had work it had a core. */
function checkHealth({ attacked, quiet }: Answers, share: number): string | undefined {
  const most = Math.max(slowest.ms / share, slowest.ratio * percentile(quiet, 99));
  const p99 = percentile(attacked, 99);
  return p99 > most ? `/healthz took ${p99.toFixed(0)} ms (p99), more than ${most.toFixed(0)}` : undefined;
}

function describeHealth({ attacked, quiet }: Answers): string {
  const show = (values: number[]) =>
    [50, 99, 100].map((percent) => percentile(values, percent).toFixed(1)).join(", ");
  const ratio = percentile(attacked, 99) / percentile(quiet, 99);
  return `${attacked.length} times, median, p99, slowest ${show(attacked)} ms; of a quiet agent ${
    show(quiet)
  } ms; p99 ${ratio.toFixed(1)} times as long`;
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
