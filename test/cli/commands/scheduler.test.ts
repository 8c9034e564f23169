import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { schedulerCommand } from "../../../src/cli/commands/scheduler.ts";

async function run(...words: string[]): Promise<{ code: number; text: string }> {
  let text = "";
  const say = (part: string) => void (text += part);
  const io = { stdout: say, stderr: say, env: {}, columns: 0, signal: AbortSignal.abort() };
  const commands = { scheduler: { summary: "", load: async () => schedulerCommand } };
  return { code: await runCommandLine(["scheduler", ...words], commands, io), text };
}

test("the scheduler reports wrong flags and exits with 2", async () => {
  const cases: [string[], RegExp][] = [
    [["--policy", "random"], /--policy "random": use spread or binpack/],
    [["--explain", "/web"], /--explain "\/web": use NAMESPACE\/NAME/],
    [["--default-toleration", "soon"], /--default-toleration "soon"/],
    [["--node-monitor-grace-period", "5s"], /agents renew every 10 s; use 20s or more/],
    [["here"], /scheduler takes no operands, not "here"/],
    [["--polcy", "spread"], /did you mean --policy/],
  ];
  for (const [words, expected] of cases) {
    const { code, text } = await run(...words);
    assert.equal(code, 2, text);
    assert.match(text, expected);
  }
});

test("a scheduler without an API server reports how to configure it", async () => {
  const { code, text } = await run();
  assert.equal(code, 1);
  assert.match(text, /give a kubeconfig or a server/);
});
