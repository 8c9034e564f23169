/** Takes the picture of the dashboard for the docs: `node test/browser/picture.ts docs/dashboard.png`. */
import process from "node:process";
import { noBrowser, openPage, until } from "./open-browser.ts";
import { sampleApps, serveSampleNode } from "./sample-node.ts";

const [path = "docs/dashboard.png"] = process.argv.slice(2);
if (noBrowser) throw new Error(noBrowser);
await using node = await serveSampleNode();
await using browser = await openPage({ viewport: { width: 1080, height: 680 } });
await browser.page.goto(node.url);
await until(browser.page, `document.querySelectorAll("#apps li").length === ${sampleApps.length}`);
await browser.page.screenshot({ path });
console.log(`${path} was written`);
