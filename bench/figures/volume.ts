/**
 * A very large cluster seen from a node that runs ten apps of it: the first list, and a flood of watch events.
 *
 * The server is a stand-in that only streams (see volume-server.ts): a real one would take minutes to be filled, and would be what is
 * measured. The peer reads the same list whole and decodes it at once, as a client without pages does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startAgentProcess } from "../../test/agent-process.ts";
import { must } from "../../tools/command.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { readPeakMB } from "../process-cost.ts";
import { createStartedFiles, type StartedFiles } from "../started-files.ts";

const apps = 50_000;
const own = 10;
const events = 100_000;
const node = "bench";

export const volume: Benchmark = {
  name: "volume",
  about:
    `A node that runs ${own} of ${
      apps.toLocaleString("en")
    } NCApps, with a server that can only stream: the first list with its peak ` +
    `memory, and ${events.toLocaleString("en")} watch events of other nodes.`,
  needs: ["executable"],
  run: measure,
};

async function measure({ say }: Context): Promise<Figure[]> {
  say(`a list of ${own}`);
  const small = await follow(own, 0);
  say(`a list of ${apps}, then ${events} events`);
  const large = await follow(apps, events, "pages");
  say(`a streaming list of ${apps}`);
  const streamed = await follow(apps, 0);
  say("a client that lists all at once");
  const whole = await listWhole();
  return [
    {
      figure: `list of ${apps.toLocaleString("en")} NCApps, from the agent's start until its ${own} apps run`,
      ours: large.seconds,
      unit: "s",
      peer: { what: "list whole, decode at once, start nothing", value: whole.seconds },
      note: `with ${own} NCApps in the cluster it is ${
        small.seconds.toFixed(2)
      } s; each object is about 1 KB`,
    },
    {
      figure: `list of ${apps.toLocaleString("en")} NCApps, peak resident memory over that with ${own}`,
      ours: Math.max(0, large.peakMB - small.peakMB),
      unit: "MB",
      asked: 100,
      peer: { what: "list whole, over an idle Node", value: whole.peakMB },
      note: `peak ${large.peakMB.toFixed(0)} MB, with ${own} NCApps ${small.peakMB.toFixed(0)} MB`,
    },
    {
      figure: `streaming list of ${
        apps.toLocaleString("en")
      } NCApps, from the agent's start until its ${own} apps run`,
      ours: streamed.seconds,
      unit: "s",
      peer: { what: "list in pages", value: large.seconds },
    },
    {
      figure: `streaming list of ${
        apps.toLocaleString("en")
      } NCApps, peak resident memory over that with ${own}`,
      ours: Math.max(0, streamed.peakMB - small.peakMB),
      unit: "MB",
      peer: { what: "list in pages", value: Math.max(0, large.peakMB - small.peakMB) },
      note: `peak ${streamed.peakMB.toFixed(0)} MB`,
    },
    {
      figure: "watch events through the agent",
      ours: large.eventsPerSecond,
      unit: "events/s",
      better: "higher",
      peer: { what: "JSON.parse of each line", value: large.parsedPerSecond },
      note: `${
        events.toLocaleString("en")
      } events of other nodes and then a new app of this one, until that app runs`,
    },
  ];
}

async function follow(count: number, burst: number, how: "stream" | "pages" = "stream") {
  await using files = await createStartedFiles();
  await using server = await startServer(count, files, how);
  const start = performance.now();
  await using agent = await startAgentProcess([
    ...["--server", server.url, "--node-name", node, "--register-node", "never", "--enforce", "best-effort"],
  ]);
  await files.waitForAll(own);
  const seconds = (performance.now() - start) / 1000;
  const peakMB = readPeakMB(agent.pid());
  if (burst === 0) return { seconds, peakMB, eventsPerSecond: 0, parsedPerSecond: 0 };
  await pause(2000);
  const began = performance.now();
  await Promise.all([server.burst(burst), files.waitForAll(own + 1)]);
  const eventsPerSecond = burst / (performance.now() - began) * 1000;
  await agent.kill("SIGKILL");
  return { seconds, peakMB, eventsPerSecond, parsedPerSecond: await parseAll(server, burst) };
}

interface VolumeServer extends AsyncDisposable {
  url: string;
  burst(count: number): Promise<void>;
}

async function startServer(count: number, files: StartedFiles, how = "stream"): Promise<VolumeServer> {
  const program = fileURLToPath(new URL("../volume-server.ts", import.meta.url));
  const folder = files.fileOf("").replace(/\/$/, "");
  const child: ChildProcess = spawn(process.execPath, [
    program,
    `${count}`,
    `${own}`,
    node,
    files.shellFile,
    folder,
    how,
  ], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [port] = await once(child.stdout!, "data");
  const url = `http://127.0.0.1:${String(port).trim()}`;
  return {
    url,
    burst: async (events) =>
      void await (await fetch(`${url}/burst?count=${events}`, { method: "POST" })).text(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
    },
  };
}

/** Sends the same events to a process that only splits and parses them. */
async function parseAll(server: VolumeServer, burst: number): Promise<number> {
  const stopping = new AbortController();
  const { body } = await fetch(`${server.url}/apis/ncapps?watch=1`, { signal: stopping.signal });
  const start = performance.now();
  const sending = server.burst(burst);
  let [rest, parsed] = ["", 0];
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (JSON.parse(line)) parsed++;
    if (parsed >= burst) break;
  }
  const rate = parsed / (performance.now() - start) * 1000;
  stopping.abort();
  await sending;
  return rate;
}

/** Returns time and memory of a separate process that reads the list in one answer. */
async function listWhole(): Promise<{ seconds: number; peakMB: number }> {
  await using files = await createStartedFiles();
  await using server = await startServer(apps, files);
  const program = `
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require("fs").readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
    const [before, start] = [peak(), performance.now()];
    fetch(process.argv[1]).then((answer) => answer.text()).then((text) => {
      const { items } = JSON.parse(text);
      const own = items.filter(({ spec }) => spec.nodeName === "${node}");
      console.log(JSON.stringify({ own: own.length, seconds: (performance.now() - start) / 1000, peakMB: peak() - before }));
    });`;
  return JSON.parse(await must(process.execPath, ["-e", program, `${server.url}/apis/ncapps`]));
}
