import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogOptions, NodeApp } from "../../src/cli/agent-api/agent-api.ts";
import { logPath } from "../../src/cli/agent-api/agent-api.ts";
import { type AppName, fullName } from "../../src/cli/app-name.ts";
import type { Io } from "../../src/cli/command.ts";
import { prefixLines } from "../../src/cli/print-logs.ts";
import type { AppOrigin } from "../../src/cli/app-reader.ts";
import { readCommands } from "../../src/cli/read-commands.ts";
import { sleep } from "../../src/lib/sleep.ts";
import { ncapp } from "../builders.ts";
import { waitFor } from "../wait-for.ts";
import { call } from "./call.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

type Logs = (app: AppName, options: LogOptions) => AsyncIterable<Uint8Array>;

async function* pieces(...texts: string[]) {
  for (const text of texts) yield encode(text);
}

/** Calls `logs` with apps and logs of the test's own; `asked` has what was asked for. */
function scene(
  apps: [string, Record<string, string>?][],
  logs: Logs = (app) => pieces(`${app.name} says\n`),
) {
  const asked: [string, object][] = [];
  const items: NodeApp[] = apps.map(([key, labels]) => {
    const [namespace = "", name = ""] = key.split("/");
    return ncapp({ metadata: { namespace, name, labels } });
  });
  const origin: AppOrigin = {
    program: "nckubelet",
    scope: "node",
    appFlags: { namespace: { short: "n", value: "NAME", help: "Namespace." } },
    listFlags: {},
    interval: "2s",
    connect: async () => ({
      list: async () => items,
      none: "No apps on this node.",
      get: async () => items[0]!,
      logs: (app, { signal, ...choice }) => {
        asked.push([fullName(app), JSON.parse(JSON.stringify(choice))]);
        return logs(app, { signal, ...choice });
      },
      restart: async () => {},
      broken: async () => [],
      heading: async () => [],
      events: async () => [],
      [Symbol.dispose]: () => {},
    }),
  };
  const table = { logs: { summary: "", load: async () => readCommands(origin).logs } };
  const begin = (words: string[], io: Partial<Io> = {}) => call(["logs", ...words], { table, ...io });
  return { asked, begin, run: (...words: string[]) => begin(words).done };
}

const shop: [string, Record<string, string>][] = [
  ["default/web", { app: "web" }],
  ["default/db", { app: "db" }],
  ["shop/web", { app: "web", tier: "front" }],
];

test("the flags of logs choose lines as those of kubectl logs", async () => {
  const { run, asked } = scene([]);
  await run("-f", "--tail", "5", "--since", "1h30m", "-p", "--timestamps", "--limit-bytes", "99", "web");
  await run("--since-time", "2026-11-17T07:04:14+01:00", "web");
  const off = { follow: false, previous: false, timestamps: false };
  assert.deepEqual(asked, [
    ["default/web", {
      tailLines: 5,
      follow: true,
      sinceSeconds: 5400,
      previous: true,
      timestamps: true,
      limitBytes: 99,
    }],
    ["default/web", { ...off, sinceTime: "2026-11-17T07:04:14+01:00" }],
  ]);
  assert.equal(
    logPath({ namespace: "a", name: "b" }, { ...off, tailLines: 0, sinceTime: "2026-11-17T07:04:14+01:00" }),
    "/apps/a/b/logs?tailLines=0&sinceTime=2026-11-17T07%3A04%3A14%2B01%3A00",
  );
});

test("wrong flags of logs are refused before anything is asked", async () => {
  const { run, asked } = scene(shop);
  const wrong: [string[], RegExp][] = [
    [["--since", "soon", "web"], /--since "soon": use a time such as 30s, 5m/],
    [["--since", "0s", "web"], /--since "0s"/],
    [["--since", "", "web"], /--since ""/],
    [["--since-time", "yesterday", "web"], /--since-time "yesterday": use a time of RFC 3339/],
    [["--since-time", "2026-02-30T00:00:00Z", "web"], /--since-time "2026-02-30T00:00:00Z"/],
    [["--since", "5m", "--since-time", "2026-11-17T07:04:14Z", "web"], /--since or --since-time, not both/],
    [["--limit-bytes", "0", "web"], /--limit-bytes "0": use a whole number from 1/],
    [["--tail", "-1", "web"], /--tail/],
    [["-l", "app=web", "web"], /name apps, or use --selector, not both/],
    [["--all", "web"], /name apps, or use --all, not both/],
    [["--all", "-l", "app=web"], /--selector or --all, not both/],
    [["-l", "app==a b"], /--selector "app==a b": label value "a b"/],
    [[], /no app is named/],
  ];
  for (const [words, message] of wrong) {
    const { code, stderr } = await run(...words);
    assert.equal(code, 2, words.join(" "));
    assert.match(stderr, message);
  }
  assert.deepEqual(asked, []);
});

test("the log of one app is printed byte for byte, those of several with their names", async () => {
  const logs: Logs = ({ name }) => pieces("one\ntw", `o\n${name} has no end`);
  const { run } = scene(shop, logs);
  assert.equal((await run("web")).stdout, "one\ntwo\nweb has no end");
  assert.equal((await run("web", "default/web")).stdout, "one\ntwo\nweb has no end");
  assert.deepEqual(await run("web", "db"), {
    code: 0,
    stdout: "[web] one\n[web] two\n[web] web has no end\n[db] one\n[db] two\n[db] db has no end\n",
    stderr: "",
  });
  assert.match(
    (await run("web", "shop/web")).stdout,
    /^\[default\/web\] one\n(.*\n)+\[shop\/web\] web has no end\n$/,
  );
});

test("--selector and --all choose apps by their labels", async () => {
  const { run, asked } = scene(shop);
  const chosen = async (...words: string[]) => {
    asked.length = 0;
    assert.equal((await run(...words)).code, 0, words.join(" "));
    return asked.map(([app]) => app);
  };
  assert.deepEqual(await chosen("-l", "app=web"), ["default/web", "shop/web"]);
  assert.deepEqual(await chosen("-l", "app in (web,db),!tier"), ["default/web", "default/db"]);
  assert.deepEqual(await chosen("-l", "tier"), ["shop/web"]);
  assert.deepEqual(await chosen("--all"), ["default/web", "default/db", "shop/web"]);
  const none = await run("-l", "app=mail");
  assert.deepEqual([none.code, none.stdout], [1, ""]);
  assert.match(none.stderr, /no app matches --selector app=mail/);
  assert.match((await scene([]).run("--all")).stderr, /No apps on this node/);
});

test("several logs are followed at once, until the signal, in whole lines", async () => {
  const stop = new AbortController();
  const gates = { web: Promise.withResolvers<void>(), db: Promise.withResolvers<void>() };
  const logs: Logs = async function* ({ name }, { signal }) {
    yield encode(`${name} start `);
    await gates[name as "web" | "db"].promise;
    yield encode("end\n");
    await sleep(60_000, signal);
  };
  const { begin } = scene(shop, logs);
  const { output, done } = begin(["-f", "web", "db"], { signal: stop.signal });
  gates.db.resolve();
  await waitFor("the second app's line", () => output.stdout === "[db] db start end\n");
  gates.web.resolve();
  await waitFor("the first app's line", () => output.stdout === "[db] db start end\n[web] web start end\n");
  stop.abort();
  assert.equal((await done).code, 0);
});

test("a log that cannot be read is reported with its app, and the others are printed", async () => {
  const logs: Logs = async function* ({ name }) {
    yield encode(`${name}\n`);
    if (name === "web") throw new Error("the agent closed the connection");
  };
  for (const follow of [[], ["-f"]]) {
    const { code, stdout, stderr } = await scene(shop, logs).run(...follow, "web", "db");
    assert.deepEqual([code, stderr], [1, "[web] the agent closed the connection\n"]);
    assert.deepEqual(stdout.split("\n").sort(), ["", "[db] db", "[web] web"]);
  }
});

test("on a terminal the names have colors, one per app", async () => {
  const { begin } = scene(shop);
  const { stdout } = await begin(["web", "db"], { columns: 80 }).done;
  assert.equal(stdout, "\x1b[36m[web]\x1b[39m web says\n\x1b[32m[db]\x1b[39m db says\n");
});

test("a line without end is broken, so that it cannot fill the memory", () => {
  const lines = prefixLines("[a]");
  const out = decode(lines.add(encode("x".repeat(150_000)))) + decode(lines.end());
  assert.deepEqual(out.split("\n").map((line) => line.length), [65_540, 65_540, 18_932, 0]);
  assert.ok(out.split("\n").slice(0, 3).every((line) => line.startsWith("[a] x")));
});
