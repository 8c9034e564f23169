import assert from "node:assert/strict";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listenOnSocket } from "../../../src/server/listen/listen.ts";
import type { AppView } from "../../../src/server/view.ts";
import { skipUnless } from "../../harness/parts.ts";
import { openTmux, type TmuxTerminal } from "../../harness/tmux.ts";
import { recordActions, serverWith, viewWith } from "../../server/fake-agent.ts";
import { appWith } from "../../supervisor/fixtures.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { program, runtime } from "../own-program.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";

/** The real endpoint of an agent with 64 apps; `app-00` has the highest usage. */
async function serveApps(folder: string) {
  const logFile = firstPart(folder);
  await writeFile(logFile, Array.from({ length: 100 }, (_, n) => `line ${n} of the log\n`).join(""));
  const views = Array.from({ length: 64 }, (_, n): AppView => ({
    app: appWith({ shellFile: `/opt/app-${n}/run.sh`, cpuPCT: 20, memPCT: 10 }, {
      name: `app-${String(n).padStart(2, "0")}`,
    }),
    source: "manifests",
    status: n % 16 === 5
      ? {
        phase: "BackOff",
        reason: "Error",
        message: "Ended with status 1: no route to the database",
        restarts: n,
      }
      : {
        phase: "Running",
        reason: "Running",
        ready: true,
        restarts: n % 3,
        oomKills: 0,
        pid: 4000 + n,
        processes: 1 + n % 4,
        startTime: new Date(Date.now() - n * 600_000).toISOString(),
        cpuPCT: (19.5 - n * 0.3).toFixed(1),
        memPCT: (n * 0.1).toFixed(1),
        memoryBytes: n * 2 ** 20,
      },
    logFile,
    limits: {},
  }));
  const actions = recordActions();
  const view = viewWith({
    node: "edge-7",
    startedAt: new Date(Date.now() - 7_200_000),
    apps: () => views,
    app: (_, name) => views.find(({ app }) => app.metadata.name === name),
  });
  const socket = join(folder, "agent.sock");
  const listen = () => listenOnSocket(serverWith({ view, actions }), socket);
  return { socket, logFile, asked: actions.asked, listen };
}

describe("top on a terminal", { skip: skipUnless("tmux") }, () => {
  const temp = tempFolder({ after });
  let agent: Awaited<ReturnType<typeof serveApps>>;
  let listener: Awaited<ReturnType<typeof agent.listen>>;
  before(async () => {
    agent = await serveApps(temp.path);
    listener = await agent.listen();
  });
  after(() => listener.close());

  const start = async (terminal: TmuxTerminal, before = "") => {
    await terminal.until(/ready\$/);
    const top = `${before} exec ${program.join(" ")} top --interval 100ms --socket ${agent.socket}`;
    const lines = [
      "stty -g > before",
      `sh -c 'echo $$ > pid; ${top}'`,
      "echo exit $?",
      "stty -g | cmp - before && echo same terminal",
    ];
    await terminal.type(`cd ${temp.path}; ${lines.join("; ")}`, "Enter");
    return await terminal.until(/> default\/app-00/);
  };

  test("it sorts, scrolls, finds and quits, and leaves the terminal as it was", async () => {
    await using terminal = await openTmux({ columns: 80, rows: 24 });
    await start(terminal);
    // The last line of the screen: all others are drawn by then.
    const first = await terminal.until(/^q quit /m);
    assert.match(
      first,
      /^64 apps, 60 running; total [\d.]+% CPU, [\d.]+% memory; by CPU\nnode edge-7, agent 1\.2\.3, up 120m$/m,
    );
    assert.match(first, /^ +APP +PHASE +CPU▼ +MEM +MiB +RESTARTS +AGE$/m);
    await terminal.type("End");
    await terminal.until(/^> default\/app-53/m);
    await terminal.type("Home", "Down", "PageDown");
    await terminal.until(/^> default\/app-(?!0[01])\d+/m);
    await terminal.type("n", "R");
    await terminal.until(/^> default\/app-63/m);
    await terminal.type("t");
    await terminal.until(/RESTARTS▼[^]*\n..default\/app-53 +BackOff/);
    await terminal.type("?");
    await terminal.until(/Keys of top/);
    await terminal.type("x", "/", "backoff");
    const found = await terminal.until(/^\/backoff█/m);
    assert.equal(found.match(/BackOff/g)?.length, 4);
    await terminal.type("Enter", "/", "zz");
    await terminal.until(/No app matches "backoffzz"/);
    await terminal.type("Escape", "Escape");
    await terminal.until(/default\/app-02/);
    await terminal.type("q");
    const end = await terminal.until(/exit 0\nsame terminal\nready\$/);
    assert.doesNotMatch(end, /app-02 /, "the screen of the shell is back");
  });

  test("Enter follows the log of the selected app, and r restarts it after y", async () => {
    await using terminal = await openTmux();
    await start(terminal);
    await terminal.type("Down", "Enter");
    await terminal.until(/^Log of default\/app-01 \(Running\), following\n[^]*line 99 of the log$/m);
    await appendFile(agent.logFile, "\x1b[31mnew\x1b[0m line\n");
    await terminal.until(/^new line$/m);
    await terminal.type("PageUp");
    await terminal.until(/rows below; End follows/);
    await terminal.type("Home");
    await terminal.until(/^line 0 of the log$/m);
    await terminal.type("Escape");
    await terminal.until(/> default\/app-01/);
    await terminal.type("r");
    await terminal.until(/^Restart default\/app-01\?/m);
    await terminal.type("n");
    await terminal.until(/^q quit/m);
    assert.deepEqual(agent.asked, []);
    await terminal.type("r", "y");
    await terminal.until(/^default\/app-01 is being restarted/m);
    await waitFor("the restart", () => agent.asked.includes("restart default/app-01"));
    await terminal.type("C-c");
    await terminal.until(/exit 0\nsame terminal/);
  });

  test("it fits every size, and follows a change", async () => {
    await using terminal = await openTmux({ columns: 200, rows: 60 });
    await start(terminal);
    await terminal.until(/SOURCE +MESSAGE +SCRIPT/);
    await terminal.type("p");
    await terminal.until(
      /app-05 +BackOff .* Ended with status 1: no route to the database +\/opt\/app-5\/run\.sh/,
    );
    for (const [columns, rows] of [[20, 3], [1, 1], [40, 8], [10, 2]] as const) {
      await terminal.resize(columns, rows);
      const fits = (text: string) => {
        const lines = text.replace(/\n+$/, "").split("\n");
        return lines.length <= rows && lines.some((line) => line.startsWith(columns > 1 ? ">" : "…"));
      };
      await waitFor(`${columns}×${rows}`, async () => fits(await terminal.screen()));
    }
    await terminal.resize(80, 24);
    await terminal.until(/^q quit .* R reverse$/m);
    await terminal.type("q");
    await terminal.until(/same terminal/);
  });

  test("colors mark phases, unless NO_COLOR is set", async () => {
    await using terminal = await openTmux({ rows: 40 });
    await start(terminal);
    const colored = await terminal.colored();
    assert.match(colored, /\x1b\[(?:\d+;)*7m(?:\x1b\[\d+m)*> default\/app-00/);
    assert.match(colored, /\x1b\[3[12]m/);
    await terminal.type("q");
    await terminal.until(/same terminal/);
    await terminal.type("clear", "Enter");
    await waitFor("an empty screen", async () => !(await terminal.screen()).includes("same terminal"));
    await start(terminal, "NO_COLOR=1");
    assert.doesNotMatch(await terminal.colored(), /\x1b\[(?:\d+;)*(?:7|3[0-8])m/);
  });

  test("the terminal is restored after SIGTERM, after Ctrl-Z and fg, and the agent may come and go", async () => {
    await using terminal = await openTmux();
    await start(terminal);
    await terminal.type("C-z");
    await terminal.until(/Stopped/);
    await terminal.type("fg", "Enter");
    await terminal.until(/> default\/app-00/);
    await listener.close();
    const failed = await terminal.until(/cannot|no agent|not running/i);
    assert.match(failed, /default\/app-00/, "the last data stays");
    listener = await agent.listen();
    await terminal.until(/^q quit /m);
    process.kill(Number(await readFile(join(temp.path, "pid"), "utf8")), "SIGTERM");
    await terminal.until(/same terminal/);
  });

  test("an error that nobody handles shows on the restored terminal", async () => {
    const script = join(temp.path, "failing.ts");
    await writeFile(
      script,
      `import process from "node:process";
      import { openTerminal } from ${
        JSON.stringify(fileURLToPath(new URL("../../../src/cli/terminal.ts", import.meta.url)))
      };
      openTerminal(process);
      setTimeout(() => { throw new Error("boom"); }, 10);`,
    );
    await using terminal = await openTmux({ rows: 40 });
    await terminal.until(/ready\$/);
    await terminal.type(`cd ${temp.path}; stty -g > before; ${runtime.join(" ")} failing.ts; echo exit $?`);
    await terminal.type("; stty -g | cmp - before && echo same terminal", "Enter");
    // The line that was typed is only on the screen of the shell.
    await terminal.until(/ready\$ cd [^]*boom[^]*exit 1\n[^]*same terminal/);
  });
});
