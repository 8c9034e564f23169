import assert from "node:assert/strict";
import { test } from "node:test";
import type { Io } from "../../../src/cli/command.ts";
import { runTop, type TopSource } from "../../../src/cli/top/top.ts";
import { waitFor } from "../../wait-for.ts";
import { manyApps } from "./sample-apps.ts";

const never = () => new Promise<never>(() => {});

/** Runs top on a terminal that the test types into; `screen` is what was written since the last call. */
function start(fields: Partial<TopSource> = {}, everyMs = 5) {
  let written = "";
  let type = (_: string) => {};
  const terminal = { isOpen: false };
  const stopping = new AbortController();
  const io: Io = {
    stdout: (text) => void (written += text),
    stderr: () => {},
    env: { NO_COLOR: "1" },
    columns: 80,
    rows: 24,
    signal: stopping.signal,
  };
  const source: TopSource = {
    none: "No apps.",
    heading: async () => [],
    list: async () => manyApps(3),
    async *logs() {},
    restart: async () => {},
    ...fields,
  };
  const open = () => {
    terminal.isOpen = true;
    return {
      onInput: (listener: (bytes: Uint8Array) => void) =>
        type = (text) => listener(new TextEncoder().encode(text)),
      onResize: () => {},
      suspend: () => {},
      [Symbol.dispose]: () => void (terminal.isOpen = false),
    };
  };
  const done = runTop(source, io, open, { everyMs, scope: "cluster" });
  const until = async (pattern: RegExp) => {
    await waitFor(String(pattern), () => pattern.test(written));
    written = "";
  };
  return { done, terminal, stopping, until, type: (text: string) => type(text) };
}

test("a first read that fails is a failure of the command, and takes no terminal", async () => {
  const { done, terminal } = start({ list: () => Promise.reject(new Error("no agent")) });
  await assert.rejects(done, /no agent/);
  assert.equal(terminal.isOpen, false);
});

test("q quits at once and gives the terminal back, even while the agent does not answer", async () => {
  let calls = 0;
  const { done, terminal, until, type } = start({
    list: () => calls++ === 0 ? Promise.resolve(manyApps(3)) : never(),
  });
  await until(/app-00/);
  await waitFor("a read that hangs", () => calls > 1);
  type("q");
  await done;
  assert.equal(terminal.isOpen, false);
});

test("the signal of the process ends it as q does", async () => {
  const { done, terminal, until, stopping } = start();
  await until(/app-00/);
  stopping.abort("SIGTERM");
  await done;
  assert.equal(terminal.isOpen, false);
});

test("a restart that is refused says why, and a log that cannot be read too", async () => {
  const { done, until, type } = start({
    restart: () => Promise.reject(new Error("default/app-00 is a mirror")),
    // deno-lint-ignore require-yield
    async *logs() {
      throw new Error("the node does not answer");
    },
  });
  await until(/app-00/);
  type("ry");
  await until(/default\/app-00 is a mirror/);
  type("\r");
  await until(/Log of default\/app-00 \(Running\), the node does not answer/);
  type("q");
  await until(/q quit/);
  type("q");
  await done;
});

test("a lone Escape is a key, and an arrow that arrives in two parts is one key", async () => {
  const { done, until, type } = start();
  await until(/> default\/app-00/);
  type("/zz\r");
  await until(/No app matches "zz"/);
  type("\x1b");
  await until(/> default\/app-00/);
  type("\x1b[");
  type("B");
  await until(/> default\/app-01/);
  type("\x03");
  await done;
});
