/** A log whose lines are written, checked and read at times of a test's own clock, which is long before the real one. */
import { Buffer } from "node:buffer";
import { mkdirSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "../../../src/lib/log.ts";
import { checkLogs, forgetLog, noteLengths, noteRun } from "../../../src/supervisor/logs/logs.ts";
import { readLog, type ReadLogOptions } from "../../../src/supervisor/logs/read-log.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith, recordWith } from "../fixtures.ts";

export const morning = Date.parse("2020-01-01T08:00:00Z");

export function createClockedLog(logs = { maxBytes: 65_536, maxFiles: 4 }) {
  const temp = tempFolder();
  const layout = { stateDir: join(temp.path, "state"), logDir: temp.path };
  const folder = join(temp.path, "default_web");
  const path = join(folder, "app.log");
  mkdirSync(folder);
  const apps = [{ key: "default/web", record: recordWith({ app: appWith({}, { name: "web" }) }) }];
  let runs = 0;
  const log = {
    folder,
    path,
    clock: morning,
    now: () => log.clock,
    write: (text: string) => appendFile(path, text),
    /** What the agent does every 10 s. */
    check: () => checkLogs(apps, { layout, log: silentLogger, logs, now: log.now }),
    startRun: async () => {
      await log.write("");
      await noteRun(path, `r${++runs}-0000000000`, { now: log.now });
    },
    /** Ends the agent, by SIGTERM or SIGKILL. */
    endAgent: async (how: "stopped" | "killed") => {
      if (how === "stopped") await noteLengths(apps, { layout, log: silentLogger, now: log.now });
      forgetLog(path);
    },
    read: async (options: ReadLogOptions = {}) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of readLog(folder, options, { now: log.now })) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    },
    [Symbol.dispose]() {
      forgetLog(path);
      temp.remove();
    },
  };
  return log;
}

/** Splits stamped lines. */
export function stampedLines(text: string): { time: number; line: string }[] {
  return text.split(/(?<=\n)/).map((line) => {
    const [, stamp = "", rest = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) (.*\n?)$/s.exec(line) ?? [];
    return { time: Date.parse(stamp), line: rest };
  });
}
