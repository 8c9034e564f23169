/**
 * `top` on a terminal: it reads keys and data, passes them to `update`, performs what that asks for, and shows what `draw` returns.
 *
 * Guarantees: a key takes effect at once, even while the agent does not answer. Data that cannot be read is shown as old and read
 * again, since an agent may just be restarting.
 */
import { splitAppKey } from "../../api/names.ts";
import { describeError } from "../../lib/log.ts";
import { orAborted, sleep } from "../../lib/sleep.ts";
import type { Io } from "../command.ts";
import type { AppReader } from "../app-reader.ts";
import { paintFor, type Scope, textWidth } from "../screen/screen.ts";
import type { Terminal } from "../terminal.ts";
import { draw } from "./draw.ts";
import { decodeKeys } from "./keys.ts";
import { type Effect, startState, type TopEvent } from "./state.ts";
import { update } from "./update.ts";

/** Where top gets its data, and what it can do. */
export type TopSource = Pick<AppReader, "none" | "heading" | "list" | "logs" | "restart">;

/** How long the start of an escape sequence waits for the rest before it is the Escape key. */
const escapeMs = 50;
/** Output of a fast log is drawn at most this often. */
const frameMs = 30;
const firstLogLines = 1000;

/** Runs until the user quits or the signal aborts. A failure of the first read is one of the command. */
export async function runTop(
  source: TopSource,
  io: Io,
  openTerminal: () => Terminal,
  { everyMs, scope }: { everyMs: number; scope: Scope },
): Promise<void> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([io.signal, leaving.signal]);
  const paint = paintFor(io);
  let state = startState({ scope, none: source.none, ...await read(source), ...sizeOf(io) });
  let readingLog: AbortController | undefined;
  let frame: ReturnType<typeof setTimeout> | undefined;
  let wake = () => {};

  using terminal = openTerminal();
  const show = () => {
    frame = undefined;
    io.stdout(screenOf(draw(state, paint), state));
  };
  const handle = (event: TopEvent) => {
    if (signal.aborted) return;
    const step = update(state, event);
    state = step.state;
    if (step.effect) perform(step.effect);
    frame ??= setTimeout(show, frameMs);
  };
  const perform = (effect: Effect) => {
    switch (effect.kind) {
      case "quit":
        return leaving.abort();
      case "suspend":
        return terminal.suspend();
      case "closeLog":
        return readingLog?.abort();
      case "openLog":
        readingLog = new AbortController();
        return void readLog(source, effect.app, AbortSignal.any([signal, readingLog.signal]), handle);
      case "restart":
        handle({ kind: "notice", text: `${effect.app} is being restarted` });
        return void source.restart(splitAppKey(effect.app)).catch((error) =>
          handle({ kind: "notice", text: describeError(error) })
        ).then(() => wake());
    }
  };

  terminal.onInput(keyReader((key) => handle({ kind: "key", key })));
  terminal.onResize(() => handle({ kind: "size", ...sizeOf(io) }));
  show();
  try {
    while (!signal.aborted) {
      const waking = new AbortController();
      wake = () => waking.abort();
      await sleep(everyMs, AbortSignal.any([signal, waking.signal]));
      if (signal.aborted) break;
      // Not only by the reader's own deadline: quitting must not wait for an agent that hangs.
      const event = await orAborted(readAgain(source), signal).catch(() => undefined);
      if (event) handle(event);
    }
  } finally {
    clearTimeout(frame);
    leaving.abort();
  }
}

async function read(source: TopSource) {
  const [heading, apps] = await Promise.all([source.heading(), source.list()]);
  return { heading, apps, now: Date.now() };
}

/** Never rejects. */
async function readAgain(source: TopSource): Promise<TopEvent> {
  try {
    return { kind: "data", ...await read(source) };
  } catch (error) {
    return { kind: "failed", why: describeError(error), now: Date.now() };
  }
}

async function readLog(
  source: TopSource,
  app: string,
  signal: AbortSignal,
  handle: (event: TopEvent) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let why = "the log has ended";
  try {
    const options = { tailLines: firstLogLines, follow: true, signal };
    for await (const bytes of source.logs(splitAppKey(app), options)) {
      if (signal.aborted) return;
      handle({ kind: "logText", app, text: decoder.decode(bytes, { stream: true }) });
    }
  } catch (error) {
    why = describeError(error);
  }
  if (!signal.aborted) handle({ kind: "logEnd", app, why });
}

/** Returns a listener that decodes input and calls back with keys. */
function keyReader(onKey: (key: string) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let rest = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (bytes) => {
    clearTimeout(timer);
    const decoded = decodeKeys(rest + decoder.decode(bytes, { stream: true }));
    rest = decoded.rest;
    decoded.keys.forEach(onKey);
    if (rest === "") return;
    timer = setTimeout(() => {
      rest = "";
      onKey("<escape>");
    }, escapeMs);
  };
}

function sizeOf({ columns, rows = 24 }: Io): { columns: number; rows: number } {
  // A terminal that does not know its size says 0.
  return { columns: columns || 80, rows: rows || 24 };
}

/** Overwrites the screen line by line; clearing it first would flicker. */
function screenOf(lines: string[], { columns, rows }: { columns: number; rows: number }): string {
  return Array.from({ length: rows }, (_, index) => {
    const line = lines[index] ?? "";
    // In a full line the cursor stays on the last character, which clearing would remove.
    const isFull = textWidth(line.replaceAll(/\x1b\[[0-9;]*m/g, "")) >= columns;
    return `\x1b[${index + 1};1H${line}${isFull ? "" : "\x1b[K"}`;
  }).join("");
}
