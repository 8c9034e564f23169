/**
 * An agent in the process of the test, and commands called as main.ts calls them. Fast: only apps are started as processes.
 * It has no cgroup root, so it leaves the machine's cgroups alone and cannot enforce caps.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startAgent } from "../../src/agent/agent.ts";
import { readAgentSettings } from "../../src/cli/config/config.ts";
import type { FlagValues, Io } from "../../src/cli/command.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { tempFolder } from "../temp-folder.ts";
import { call, type Output } from "./call.ts";

export interface TestAgent extends AsyncDisposable {
  folder: string;
  socket: string;
  stateDir: string;
  /** Calls a command against this agent. */
  command(...words: string[]): Promise<Output>;
  /** Calls it with another Io; its output is in `output` while it runs. */
  begin(words: string[], io?: Partial<Io>): { output: Output; done: Promise<Output> };
  /** Writes a script beside the agent's folders and returns its path. */
  script(name: string, text: string): Promise<string>;
}

/** Starts an agent; at the end of the block it stops together with its apps. */
export async function startTestAgent(more: FlagValues = {}): Promise<TestAgent> {
  const temp = tempFolder();
  const folder = temp.path;
  const socket = join(folder, "agent.sock");
  const stateDir = join(folder, "state");
  const flags = {
    standalone: true,
    socket,
    listen: "",
    "state-dir": stateDir,
    "log-dir": join(folder, "log"),
    "cgroup-root": join(folder, "none"),
    "stop-apps-on-exit": true,
    "node-name": "test-node",
    ...more,
  };
  const { logLevel: _level, logFormat: _format, texts: _texts, ...settings } = await readAgentSettings(
    flags,
    {},
    async () => "",
  );
  const agent = await startAgent({ ...settings, version: "0.0.0-test", log: silentLogger });
  const begin: TestAgent["begin"] = (words, io = {}) =>
    call(words, { env: { NCKUBELET_SOCKET: socket }, ...io });
  return {
    folder,
    socket,
    stateDir,
    begin,
    command: (...words) => begin(words).done,
    async script(name, text) {
      const path = join(folder, name);
      await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
      temp.remove();
    },
  };
}
