/**
 * A shell in a real terminal, by tmux: a test types keys and reads the screen.
 *
 * Guarantees: its server is private to the test and reads no configuration; it ends with the block, and the shell's processes with it.
 */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { findProgram } from "./parts.ts";

const run = promisify(execFile);

export interface TmuxTerminal extends AsyncDisposable {
  /** Types keys by the names of tmux (`Enter`, `C-c`, `Up`), or text. */
  type(...keys: string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** The lines on the screen. */
  screen(): Promise<string>;
  /** The same with its colors. */
  colored(): Promise<string>;
  /** Waits until the screen matches, and returns it. */
  until(pattern: RegExp): Promise<string>;
}

export async function openTmux(
  { columns = 80, rows = 24, env = {} }: { columns?: number; rows?: number; env?: Record<string, string> } =
    {},
): Promise<TmuxTerminal> {
  const found = findProgram("tmux");
  if ("missing" in found) throw new Error(found.missing);
  const temp = tempFolder();
  const own = ["-S", join(temp.path, "tmux.sock"), "-f", "/dev/null"];
  // sh reads it at its start; a PS1 in the environment is ignored.
  const profile = join(temp.path, "profile");
  await writeFile(profile, "PS1='ready$ '\n");
  const tmux = async (...words: string[]) =>
    (await run(found.path, [...own, ...words], {
      env: { PATH: process.env.PATH, HOME: temp.path, LANG: "C.UTF-8", ENV: profile, ...env },
    })).stdout;
  await tmux("-u", "new-session", "-d", "-x", String(columns), "-y", String(rows), "exec sh");
  await tmux("set-option", "-g", "window-size", "manual");
  // A lone Escape must not wait for another key.
  await tmux("set-option", "-s", "escape-time", "0");
  await tmux("set-option", "-g", "status", "off");
  await tmux("resize-window", "-x", String(columns), "-y", String(rows));
  const screen = () => tmux("capture-pane", "-p");
  return {
    type: async (...keys) => void await tmux("send-keys", ...keys),
    resize: async (x, y) => void await tmux("resize-window", "-x", String(x), "-y", String(y)),
    screen,
    colored: () => tmux("capture-pane", "-p", "-e"),
    async until(pattern) {
      let last = "";
      const found = async () => pattern.test(last = await screen()) && last;
      return await waitFor(`the screen shows ${pattern}`, found).catch((error) => {
        throw new Error(`${error.message}; it shows:\n${last}`);
      });
    },
    async [Symbol.asyncDispose]() {
      await tmux("kill-server").catch(() => {});
      temp.remove();
    },
  };
}
