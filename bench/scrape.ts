/**
 * How long a scrape of `/metrics` takes with 200 apps.
 *
 *     node bench/scrape.ts [APPS]
 */
import process from "node:process";
import { describeTimes, fetchText, startManyApps } from "./many-apps.ts";

const apps = Number(process.argv[2] ?? 200);
const scrapes = 100;

await using agent = await startManyApps(apps, ["--standalone"]);
const times: number[] = [];
let size = 0;
for (let n = 0; n < scrapes; n++) {
  const { text, ms } = await fetchText(`${agent.url}/metrics`);
  times.push(ms);
  size = text.length;
}
console.log(`/metrics with ${apps} apps, ${size} bytes: ${describeTimes(times)}`);
