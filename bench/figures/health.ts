/**
 * How fast the agent answers while 200 apps run and the API server accepts every connection and stays silent. Meanwhile `/metrics`
 * is scraped and the dashboard polled every three seconds; the limit is a server that does nothing else.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { fetchText, startLocalAgent } from "../local-agent.ts";
import { median, percentile } from "../statistics.ts";

const apps = 200;
const periodMs = 20;
const scrapes = 100;

export const health: Benchmark = {
  name: "health",
  about:
    `\`/healthz\`, \`/readyz\` and \`/metrics\` of an agent with ${apps} apps whose API server takes connections and never answers.`,
  needs: ["executable"],
  run: measure,
};

async function measure({ long, say }: Context): Promise<Figure[]> {
  await using silent = await startSilentServer();
  await using bare = await startBareServer();
  await using local = await startLocalAgent(["--server", silent.url, "--node-name", "bench"]);
  const { url } = local.agent;
  await local.give(apps);
  await local.settle(apps);
  say("questions");
  const asked = { "/healthz": `${url}/healthz`, "/readyz": `${url}/readyz`, bare: bare.url };
  const times = await ask(asked, url, Date.now() + (long ? 60_000 : 20_000));
  say("scrapes");
  const scraped: number[] = [];
  let bytes = 0;
  for (let count = 0; count < scrapes; count++) {
    const { text, ms } = await fetchText(`${url}/metrics`);
    scraped.push(ms);
    bytes = text.length;
  }
  const held = `${silent.held()} connections to the API server hang`;
  return [
    ...(["/healthz", "/readyz"] as const).flatMap((what): Figure[] =>
      ([["median", 0.5], ["p99", 0.99]] as const).map(([name, share]) => ({
        figure: `${what} with ${apps} apps and a hanging API server, ${name}`,
        ...(name === "p99" ? { asked: 10 } : {}),
        ours: percentile(times[what]!, share),
        unit: "ms",
        limit: { what: "bare HTTP server", value: percentile(times.bare!, share) },
        note: share === 0.5
          ? `${times[what]!.length} questions, each on a connection of its own; ${held}`
          : undefined,
      }))
    ),
    {
      figure: `/metrics with ${apps} apps, median`,
      ours: median(scraped),
      unit: "ms",
      note: `${bytes} bytes, p99 ${percentile(scraped, 0.99).toFixed(1)} ms of ${scrapes}`,
    },
  ];
}

async function ask(
  urls: Record<string, string>,
  agentUrl: string,
  until: number,
): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(urls).map((what) => [what, []]));
  const others = lookAsOthersDo(agentUrl, until);
  while (Date.now() < until) {
    for (const [what, url] of Object.entries(urls)) times[what]!.push((await fetchText(url)).ms);
    await pause(periodMs);
  }
  await others;
  return times;
}

async function lookAsOthersDo(url: string, until: number): Promise<void> {
  let { last } = JSON.parse((await fetchText(`${url}/history`)).text);
  while (Date.now() < until) {
    const paths = ["/metrics", "/status", "/apps", `/history?since=${Math.max(0, last)}`];
    const answers = await Promise.all(paths.map((path) => fetchText(`${url}${path}`)));
    last = JSON.parse(answers[3]!.text).last;
    await pause(3000);
  }
}

async function startSilentServer() {
  const held = new Set<Socket>();
  const server = createServer((socket) => void held.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: () => held.size,
    async [Symbol.asyncDispose]() {
      for (const socket of held) socket.destroy();
      server.close();
    },
  };
}

async function startBareServer() {
  const program =
    `const s = require("http").createServer((q, a) => a.end("ok")).listen(0, "127.0.0.1", () => console.log(s.address().port))`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return {
    url: `http://127.0.0.1:${String(port).trim()}/`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
    },
  };
}
