/**
 * A real Chromium for tests, driven by playwright-core.
 *
 * Each page has a browser with an empty profile of its own, which asks nobody but the page's own server. Waits end, but late: a
 * machine that is busy with other tests may need a minute for what takes a second.
 */
import { chromium, type Page } from "playwright-core";
import { findChromium, skipUnless } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

export type { Page };

export interface PageOptions {
  viewport?: { width: number; height: number };
  colorScheme?: "light" | "dark";
  ignoreHTTPSErrors?: boolean;
}

const found = findChromium();
const patienceMs = 180_000;
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Why there is no browser here, or false. */
export const noBrowser: string | false = skipUnless("chromium");

/** Opens a page and keeps what it asked for and complained about; at the end of the block the browser closes. */
export async function openPage(options: PageOptions = {}) {
  if ("missing" in found) throw new Error(found.missing);
  const browser = await chromium.launch({
    executablePath: found.path,
    headless: true,
    args: flags,
    timeout: patienceMs,
  });
  const page = await browser.newPage({ viewport: { width: 1100, height: 720 }, ...options });
  page.setDefaultTimeout(patienceMs);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => void complaints.push(error.message));
  return { page, asked, complaints, [Symbol.asyncDispose]: () => browser.close() };
}

/** Waits until an expression holds in the page. Playwright's own way would have the page evaluate text, which it must not. */
export async function until(page: Page, condition: string): Promise<void> {
  await waitFor(condition, () => page.evaluate<boolean>(`Boolean(${condition})`), patienceMs);
}
