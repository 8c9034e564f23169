/**
 * How fast `/healthz` and `/readyz` answer while 200 apps run and the API server takes every connection and says nothing. Beside
 * them a scrape of `/metrics` and a look of the dashboard every three seconds; and, to see what the machine itself takes, a server
 * that does nothing else.
 *
 *     node bench/health.ts [APPS] [SECONDS]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { describeTimes, fetchText, startManyApps } from "./many-apps.ts";

const apps = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const periodMs = 20;

const bare = spawn(process.execPath, [
  "-e",
  `const s = require("http").createServer((q, a) => a.end("ok")).listen(0, "127.0.0.1", () => console.log(s.address().port))`,
], { stdio: ["ignore", "pipe", "inherit"] });
const [port] = await once(bare.stdout, "data");
const held = new Set<Socket>();
const silent = createServer((socket) => void held.add(socket.on("error", () => {})));
await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
{
  await using agent = await startManyApps(apps, ["--server", server, "--node-name", "bench"]);
  const urls = {
    "/healthz": `${agent.url}/healthz`,
    "/readyz": `${agent.url}/readyz`,
    "a bare server": `http://127.0.0.1:${String(port).trim()}/`,
  };
  const times = Object.entries(urls).map(([what, url]) => ({ what, url, list: [] as number[] }));
  const until = Date.now() + seconds * 1000;
  const others = (async () => {
    let { last } = JSON.parse((await fetchText(`${agent.url}/history`)).text);
    while (Date.now() < until) {
      const paths = ["/metrics", "/status", "/apps", `/history?since=${Math.max(0, last)}`];
      const answers = await Promise.all(paths.map((path) => fetchText(`${agent.url}${path}`)));
      last = JSON.parse(answers[3]!.text).last;
      await pause(3000);
    }
  })();
  while (Date.now() < until) {
    for (const { url, list } of times) list.push((await fetchText(url)).ms);
    await pause(periodMs);
  }
  await others;
  console.log(`${apps} apps, ${held.size} requests to the API server hanging`);
  for (const { what, list } of times) console.log(`${what}: ${describeTimes(list)}`);
}
bare.kill();
for (const socket of held) socket.destroy();
silent.close();
