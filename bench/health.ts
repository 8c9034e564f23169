/**
 * How fast `/healthz` and `/readyz` answer while 200 apps run and the API server takes every connection and says nothing. Beside
 * them a scrape of `/metrics` and a look of the dashboard every second.
 *
 *     node bench/health.ts [APPS] [SECONDS]
 */
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { describeTimes, fetchText, startManyApps } from "./many-apps.ts";

const apps = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const periodMs = 20;

const held = new Set<Socket>();
const silent = createServer((socket) => void held.add(socket.on("error", () => {})));
await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
{
  await using agent = await startManyApps(apps, ["--server", server, "--node-name", "bench"]);
  const times: Record<string, number[]> = { "/healthz": [], "/readyz": [] };
  const until = Date.now() + seconds * 1000;
  const others = (async () => {
    let { last } = JSON.parse((await fetchText(`${agent.url}/history`)).text);
    while (Date.now() < until) {
      const paths = ["/metrics", "/status", "/apps", `/history?since=${Math.max(0, last)}`];
      const answers = await Promise.all(paths.map((path) => fetchText(`${agent.url}${path}`)));
      last = JSON.parse(answers[3]!.text).last;
      await pause(1000);
    }
  })();
  while (Date.now() < until) {
    for (const [path, list] of Object.entries(times)) list.push((await fetchText(`${agent.url}${path}`)).ms);
    await pause(periodMs);
  }
  await others;
  for (const [path, list] of Object.entries(times)) {
    console.log(`${path} with ${apps} apps and ${held.size} requests hanging: ${describeTimes(list)}`);
  }
}
for (const socket of held) socket.destroy();
silent.close();
