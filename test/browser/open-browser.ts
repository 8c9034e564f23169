/**
 * A real Chromium for tests, driven by playwright-core. Where one of the two is missing, tests say so and are skipped.
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { waitFor } from "../wait-for.ts";

/** The few things that the tests do with a page; playwright-core has them all. */
export interface Page {
  goto(url: string): Promise<unknown>;
  evaluate<T>(expression: string): Promise<T>;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  innerText(selector: string): Promise<string>;
  screenshot(options: { path: string }): Promise<unknown>;
  keyboard: { press(key: string): Promise<void> };
  on(event: "request", listener: (request: { url(): string }) => void): void;
  on(event: "console", listener: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", listener: (error: Error) => void): void;
}

export interface PageOptions {
  viewport?: { width: number; height: number };
  colorScheme?: "light" | "dark";
  ignoreHTTPSErrors?: boolean;
}

interface Browser {
  newPage(options?: PageOptions): Promise<Page>;
  close(): Promise<void>;
}

const chromium = [process.env.CHROMIUM ?? "", "/usr/bin/chromium"].find((path) => existsSync(path));
// Not a literal: the types of a package that may be missing would be missed.
const driver = "playwright-core";
const playwright = await import(driver).catch(() => undefined);

/** Why there is no browser here, or false. */
export const noBrowser: string | false = "deno" in process.versions
  ? "playwright-core is for Node"
  : !playwright
  ? "playwright-core is not installed"
  : !chromium && "no chromium here: apt-get install chromium, or name one by CHROMIUM";

/** Opens a page and keeps what it asked for and complained about; at the end of the block the browser closes. */
export async function openPage(options: PageOptions = {}) {
  const browser: Browser = await playwright.chromium.launch({
    executablePath: chromium,
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-gpu"],
  });
  const page = await browser.newPage({ viewport: { width: 1100, height: 720 }, ...options });
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
  await waitFor(condition, () => page.evaluate<boolean>(`Boolean(${condition})`), 60_000);
}
