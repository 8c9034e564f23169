/** Finds the live processes of the storm's apps by their environment, independently of any agent. */
import { readdir, readFile } from "node:fs/promises";
import { realNode } from "./node.ts";
import { parseStat } from "../../../src/supervisor/processes.ts";

export interface LiveProcess {
  pid: number;
  startTime: string;
  uid: string;
  name: string;
  run: string;
  node: string;
}

/** Returns the live processes of the storm with this id. */
export async function findLive(stormId: string): Promise<LiveProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map((pid) => look(pid, stormId)));
  return found.filter((process) => process !== undefined);
}

/** Reports whether each of them is still alive. */
export async function stillLive(processes: LiveProcess[]): Promise<LiveProcess[]> {
  const stats = await Promise.all(processes.map(({ pid }) => readLiving(pid)));
  return processes.filter(({ startTime }, index) => stats[index]?.startTime === startTime);
}

async function look(pid: number, stormId: string): Promise<LiveProcess | undefined> {
  const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  if (!text.includes(`STORM_ID=${stormId}\0`)) return undefined;
  const variables = new Map(text.split("\0").map((variable) => split(variable)));
  const stat = await readLiving(pid);
  const value = (name: string) => variables.get(name) ?? "";
  return stat && {
    pid,
    startTime: stat.startTime,
    uid: value("NCAPP_UID"),
    name: value("NCAPP_NAME"),
    run: value("NCAPP_RUN"),
    node: realNode(value("NODE_NAME")),
  };
}

/** A zombie no longer holds any resource. */
async function readLiving(pid: number) {
  const stat = parseStat(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""));
  return stat && stat.state !== "Z" && stat.state !== "X" ? stat : undefined;
}

function split(variable: string): [string, string] {
  const at = variable.indexOf("=");
  return [variable.slice(0, at), variable.slice(at + 1)];
}
