import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { startExecSession } from "../../../src/supervisor/run/run.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { waitFor } from "../../wait-for.ts";
import { enterable } from "./enterable-run.ts";

const noScript = !existsSync("/usr/bin/script") && "no script(1) here";

/** The numbers in a file, as soon as there are as many. */
const numbersIn = (path: string, count: number) =>
  waitFor(`${count} pids`, async () => {
    const numbers = (await readFile(path, "utf8").catch(() => "")).trim().split("\n").filter(Boolean).map(
      Number,
    );
    return numbers.length === count ? numbers : undefined;
  });

const skip = skipUnless("compilers");
const open = async () => entranceOf(await builtLauncher());

test(`a session passes on input, both outputs and the exit code`, { skip }, async () => {
  using run = await enterable();
  const session = await startExecSession(
    run.folder,
    ["sh", "-c", 'cat; echo "$APP $NCAPP_VISITOR" >&2; exit 7'],
    { launcher: await open(), terminal: false, input: true },
  );
  const [out, err] = ["", ""].map((text) => ({ text }));
  session.stdout.on("data", (chunk) => out!.text += chunk);
  session.stderr!.on("data", (chunk) => err!.text += chunk);
  session.stdin!.end("hello");
  assert.equal(await session.exited, 7);
  await waitFor("all output", () => out!.text === "hello" && err!.text === `web ${run.runId}\n`);
});

test(
  `a terminal has the size that was asked for, and follows changes`,
  { skip: skip || noScript },
  async () => {
    using run = await enterable();
    const session = await startExecSession(
      run.folder,
      [
        "sh",
        "-c",
        "test -t 0 && test -t 1 && : </dev/tty; trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done",
      ],
      { launcher: await open(), terminal: true, input: true },
    );
    let text = "";
    session.stdout.on("data", (chunk) => text += chunk);
    assert.equal(session.stderr, undefined);
    await waitFor("the trap is set", () => text.includes("ready"));
    session.resize({ columns: 91, rows: 33 });
    await waitFor("the first size", () => text.includes("33 91"));
    for (const columns of [100, 101, 102]) session.resize({ columns, rows: 44 });
    await waitFor("the last size", () => text.includes("44 102"));
    session.stdin!.write("\x03");
    assert.equal(await session.exited, 130);
  },
);

for (const terminal of [false, true]) {
  const where = terminal ? "on a terminal" : "with pipes";
  test(
    `end() ends everything in the session ${where}`,
    { skip: skip || (terminal && noScript) },
    async () => {
      using run = await enterable();
      const pids = join(run.folder, "pids");
      const stubborn = `trap '' HUP TERM; echo $$ >>${pids}; while :; do sleep 0.2; done`;
      const session = await startExecSession(
        run.folder,
        [
          "sh",
          "-mc",
          `sh -c "${
            stubborn.replaceAll("$", "\\$")
          }" & sleep 600 & echo $! >>${pids}; echo $$ >>${pids}; wait`,
        ],
        { launcher: await open(), terminal, input: true },
      );
      session.stdout.resume();
      session.stderr?.resume();
      const found = await numbersIn(pids, 3);
      session.end();
      await session.exited;
      await waitFor("nothing is left", () => found.every((pid) => readStat(pid) === undefined));
    },
  );
}

test("a command that does not exist is an exit code, and its message is its output", { skip }, async () => {
  using run = await enterable();
  const session = await startExecSession(run.folder, ["/no/such/program"], {
    launcher: await open(),
    terminal: false,
    input: false,
  });
  let text = "";
  session.stderr!.on("data", (chunk) => text += chunk);
  assert.equal(await session.exited, 127);
  await waitFor("the message", () => text.includes("/no/such/program"));
});
