/**
 * Prepares a cgroup as a root for apps: enables controllers for its children, and moves processes to a leaf.
 *
 * Guarantees: it enables only missing controllers, in one write, which the kernel applies as a whole or not at all. It moves processes
 * only out of the folder to prepare, and only if the caller asks for it.
 */
import { readFileSync } from "node:fs";
import { createCgroup } from "../create.ts";
import { errnoOf } from "../error.ts";
import { readText, readTextIfAny, writeText } from "../file.ts";
import { fail, type LocateFailure } from "./mounts.ts";
import { moveProcess, readProcs } from "../processes.ts";

/** Enabled in addition, if available: other tools read its figures. */
const OPTIONAL = ["io"];

/** The controllers that the parent offers to `dir`. */
export function offeredControllers(dir: string): string[] {
  return words(readText(dir, "cgroup.controllers"));
}

/** The controllers that `dir` enables for its children. */
export function enabledControllers(dir: string): string[] {
  return words(readText(dir, "cgroup.subtree_control"));
}

/**
 * Enables the needed controllers for the children of `dir`; undefined on success. Below the root of the hierarchy a cgroup with
 * processes cannot enable controllers: then it writes nothing, and the failure names the processes.
 */
export function enableControllers(
  dir: string,
  need: readonly string[],
  { procRoot = "/proc", hint = "" }: { procRoot?: string; hint?: string } = {},
): LocateFailure | undefined {
  const enabled = enabledControllers(dir);
  if (need.every((name) => enabled.includes(name))) return undefined;
  const offered = offeredControllers(dir);
  const wanted = [...need, ...OPTIONAL.filter((name) => offered.includes(name) && !need.includes(name))];
  const blocking = isHierarchyRoot(dir) ? [] : readProcs(dir);
  try {
    if (blocking.length > 0) return busyFailure(dir, need, describe(blocking, procRoot), hint);
    writeText(dir, "cgroup.subtree_control", wanted.map((name) => `+${name}`).join(" "));
    return undefined;
  } catch (error) {
    if (errnoOf(error) !== "EBUSY") throw error;
    return busyFailure(dir, need, "processes of another pid namespace are", hint);
  }
}

/** Moves the processes in `dir` itself to the leaf `name` below it: all of them, or only those in `only`. */
export function moveToLeaf(dir: string, name: string, only?: readonly number[]): string {
  const leaf = `${dir}/${name}`;
  createCgroup(leaf);
  // A process may fork while the list is read. Ten rounds are enough for anything but a fork bomb.
  for (let round = 0; round < 10; round++) {
    const pids = readProcs(dir).filter((pid) => only === undefined || only.includes(pid));
    if (pids.length === 0) break;
    for (const pid of pids) moveProcess(pid, leaf);
  }
  return leaf;
}

/** The root of the whole hierarchy has no `cgroup.events`; the root of a cgroup namespace does. */
export function isHierarchyRoot(dir: string): boolean {
  return readTextIfAny(dir, "cgroup.events") === undefined;
}

function busyFailure(dir: string, need: readonly string[], who: string, hint: string): LocateFailure {
  return fail(
    "busy",
    `cannot enable ${
      need.join(", ")
    } in ${dir}/cgroup.subtree_control: ${who} in ${dir} itself, and a cgroup ` +
      `with processes cannot limit its children: move them to a cgroup below it${hint}`,
  );
}

function describe(pids: number[], procRoot: string): string {
  const shown = pids.slice(0, 5).map((pid) => `${pid} (${commOf(pid, procRoot)})`);
  if (pids.length > 5) shown.push(`${pids.length - 5} more`);
  return `${pids.length === 1 ? "process" : "processes"} ${shown.join(", ")} ${
    pids.length === 1 ? "is" : "are"
  }`;
}

function commOf(pid: number, procRoot: string): string {
  try {
    return readFileSync(`${procRoot}/${pid}/comm`, "utf8").trim();
  } catch {
    return "?";
  }
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
