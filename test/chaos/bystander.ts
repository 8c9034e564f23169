/** A process that does not belong to the agent, although records with a flipped bit may claim it. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { parseStat, readBootId, runMarker } from "../../src/supervisor/processes.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { appWith, recordWith, runOf } from "../supervisor/fixtures.ts";
import { waitFor } from "../wait-for.ts";

export interface Bystander extends AsyncDisposable {
  /** An intact record that would make its agent kill the bystander at once. */
  recordOf(name: string): AppRecord;
  /** Empty as long as it runs and received no signal. */
  fate(): string;
}

export async function startBystander(): Promise<Bystander> {
  const runId = "bystander-1";
  const says =
    'for s in HUP INT TERM USR1 USR2; do trap "echo $s" $s; done; echo up; while :; do sleep 0.1; done';
  const child = spawn("/bin/sh", ["-c", says], {
    env: { PATH: "/usr/bin:/bin", [runMarker]: runId },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => said += chunk);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  await waitFor("the bystander stands by", () => said === "up\n");
  const stat = parseStat(await readFile(`/proc/${child.pid}/stat`, "utf8"))!;
  const main = { pid: stat.pid, startTime: stat.startTime };
  const bootId = await readBootId();
  return {
    recordOf(name) {
      const app = appWith({}, { name });
      const stop = { reason: "Deleted" as const, message: "", since: 0, deadline: 1 };
      return recordWith({ app, phase: "Stopping", run: runOf(app, { id: runId, bootId, main, stop }) });
    },
    fate: () =>
      child.signalCode ?? (child.exitCode === null ? said.slice("up\n".length) : `${child.exitCode}`),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
