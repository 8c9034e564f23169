/**
 * A real Chromium for tests, driven by playwright-core.
 *
 * Each page has an empty profile of its own, and sends requests to its own server only. Pages that are open at the same time share a
 * browser, since each start of one takes a second. Waits end, but late: a machine that is busy with other tests may need a minute
 * for what takes a second.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import { findProgram, skipUnless } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

export type { Page };

export interface PageOptions {
  viewport?: { width: number; height: number };
  colorScheme?: "light" | "dark";
  ignoreHTTPSErrors?: boolean;
}

const found = findProgram("chromium");
const patienceMs = 180_000;
const flags = [
  ..."--no-sandbox --disable-gpu --disable-quic --no-first-run".split(" "),
  ..."--disable-background-networking --disable-component-update --disable-sync".split(" "),
];

/** Why there is no browser here, or false. */
export const noBrowser: string | false = skipUnless("chromium");

/** Opens a page and keeps what it asked for and complained about; at the end of the block the page closes. */
export async function openPage(options: PageOptions = {}) {
  const browser = await takeBrowser();
  const context = await browser.newContext({ viewport: { width: 1100, height: 720 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => void complaints.push(error.message));
  const close = async () => {
    await context.close();
    await leaveBrowser();
  };
  return { page, asked, complaints, [Symbol.asyncDispose]: close };
}

let [shared, pages]: [Promise<Browser> | undefined, number] = [undefined, 0];

/** Returns the browser of all pages; the first starts it. */
function takeBrowser(): Promise<Browser> {
  if ("missing" in found) throw new Error(found.missing);
  pages++;
  return shared ??= chromium.launch({
    executablePath: found.path,
    headless: true,
    args: flags,
    timeout: patienceMs,
  });
}

/** The last page closes the browser. */
async function leaveBrowser(): Promise<void> {
  if (--pages > 0) return;
  const browser = shared;
  shared = undefined;
  await (await browser)?.close();
}

/** Waits until an expression holds in the page. Playwright's own way would have the page evaluate text, which it must not. */
export async function until(page: Page, condition: string): Promise<void> {
  await waitFor(condition, () => page.evaluate<boolean>(`Boolean(${condition})`), patienceMs);
}
