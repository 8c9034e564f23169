/**
 * Finds or creates the cgroup that contains all apps.
 *
 * Guarantees: a failure is a value that says exactly what is wrong and what to do. `locateRoot` writes only to cgroups that it
 * created or was given. The one exception is `cgroup.subtree_control` at the mount without systemd, where nothing else could
 * enable the controllers, and only if they are not enabled yet. Another call, from a new process or at any time, finds the same
 * root and changes nothing.
 * Caveat: a root can disappear: stopping the scope stops the apps and removes it. Then `createCgroup` fails with ENOENT, and the next call
 * creates a new root.
 */
import { accessSync, constants, existsSync, readFileSync, rmdirSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import process from "node:process";
import { createCgroup } from "../create.ts";
import { errnoOf } from "../error.ts";
import { readTextIfAny } from "../file.ts";
import {
  type Cgroup2Mount,
  explainMissing,
  fail,
  findMount,
  inMount,
  type LocateFailure,
  ownCgroup,
} from "./mounts.ts";
import { AGENT, KEEPER } from "../name.ts";
import {
  enableControllers,
  enabledControllers,
  isHierarchyRoot,
  moveToLeaf,
  offeredControllers,
} from "./prepare.ts";
import { moveProcess, readProcs } from "../processes.ts";
import { ensureScope, startKeeper, type SystemdEffects } from "./scope.ts";

export interface LocatedRoot {
  ok: true;
  root: string;
  how: "systemd-scope" | "plain" | "delegated" | "override";
  /** The controllers that its children have. */
  controllers: string[];
  /** The leaf for launchers, outside of every app. */
  keeper: string;
}

export interface LocateOptions extends SystemdEffects {
  /** Use exactly this cgroup (`--cgroup-root`). Created if only its parent exists. */
  override?: string | undefined;
  /** The required controllers. `[]` accepts a tree that can only count, freeze and kill. */
  need?: readonly string[];
  procRoot?: string;
  sysRoot?: string;
  /** A path that exists if systemd is the init. */
  systemdMarker?: string;
  uid?: number;
  pid?: number;
}

export async function locateRoot(options: LocateOptions = {}): Promise<LocatedRoot | LocateFailure> {
  const {
    override,
    procRoot = "/proc",
    sysRoot = "/sys/fs/cgroup",
    systemdMarker = "/run/systemd/system",
    uid = process.geteuid?.() ?? 0,
    pid = process.pid,
    need = ["cpu", "memory", "pids"],
  } = options;
  try {
    const under = override === undefined ? undefined : resolve(override);
    const found = findMount(readFileSync(`${procRoot}/self/mountinfo`, "utf8"), { sysRoot, under });
    if (!found.ok) return found;
    const place = { ...options, procRoot, uid, pid, need, mount: found.mount };
    if (under !== undefined) return useGiven("override", under, place);
    if (uid !== 0) return useOwn(place);
    if (existsSync(systemdMarker)) return await useScope(place);
    return usePlain(place);
  } catch (error) {
    // A system error is a failure of the machine, and so a result; anything else is a bug here.
    if (/^E[A-Z0-9]+$/.test(errnoOf(error))) return fail("unusable", (error as Error).message);
    throw error;
  }
}

interface Place extends LocateOptions {
  procRoot: string;
  uid: number;
  pid: number;
  need: readonly string[];
  mount: Cgroup2Mount;
}

/** As root with systemd: a scope outside of the agent's service. */
async function useScope(place: Place): Promise<LocatedRoot | LocateFailure> {
  const failure = missingFailure(place.mount.point, place);
  if (failure) return failure;
  const scope = await ensureScope(place);
  if (!scope.ok) return scope;
  const dir = inMount(scope.controlGroup, place.mount);
  if (dir === undefined) return outsideMount(scope.controlGroup, place.mount);
  // The whole scope is ours, including an agent that was started in it and the remains of an interrupted preparation.
  const keeper = moveToLeaf(dir, KEEPER);
  if (readProcs(keeper).length === 0) moveProcess(await (place.startKeeper ?? startKeeper)(), keeper);
  return missingFailure(dir, place) ?? finish("systemd-scope", dir, place);
}

/** As root without systemd: `nckubelet` at the top. */
function usePlain(place: Place): LocatedRoot | LocateFailure {
  const top = place.mount.point;
  const hint = `, or, if the agent is the only process there, run it with --cgroup-root ${top}`;
  const failure = missingFailure(top, place) ?? enableControllers(top, place.need, { ...place, hint });
  if (failure) return failure;
  const dir = `${top}/nckubelet`;
  createCgroup(dir);
  return finish("plain", dir, place);
}

/** As another user: the cgroup that the agent runs in, if it was delegated. */
function useOwn(place: Place): LocatedRoot | LocateFailure {
  const text = readFileSync(`${place.procRoot}/self/cgroup`, "utf8");
  const own = ownCgroup(text, place.mount);
  if (own === undefined) return outsideMount(text.trim().split("\n").at(-1)!, place.mount);
  // A second start, inside the root that the first one prepared.
  const isLeaf = (basename(own) === AGENT || basename(own) === KEEPER) && isManageable(dirname(own));
  const dir = isLeaf ? dirname(own) : own;
  if (isManageable(dir)) return useGiven("delegated", dir, place);
  return fail(
    "not-delegated",
    `user ${place.uid} may not manage ${own}, the cgroup of the agent: run the agent as root, or start it with ` +
      "systemd-run --user --scope -p Delegate=yes",
  );
}

/** A configured or delegated cgroup: if this process is in it, it moves to its own leaf. Others stay. */
function useGiven(how: LocatedRoot["how"], dir: string, place: Place): LocatedRoot | LocateFailure {
  const isNew = createCgroup(dir);
  const failure = threadedFailure(dir) ?? missingFailure(dir, place);
  if (failure) {
    if (isNew) rmdirSync(dir);
    return failure;
  }
  if (place.need.length > 0 && !isHierarchyRoot(dir)) moveToLeaf(dir, AGENT, [place.pid]);
  return finish(how, dir, place);
}

function finish(how: LocatedRoot["how"], root: string, place: Place): LocatedRoot | LocateFailure {
  const failure = enableControllers(root, place.need, place);
  if (failure) return failure;
  const keeper = `${root}/${KEEPER}`;
  createCgroup(keeper);
  if (place.need.includes("cpu") && !existsSync(`${keeper}/cpu.max`)) {
    const why = "the cpu controller of this kernel has no cpu.max (built without CONFIG_CFS_BANDWIDTH)";
    return fail("controller-missing", why, ["cpu"]);
  }
  return { ok: true, root, how, controllers: enabledControllers(root), keeper };
}

/** The cgroups of apps need a parent of the type `domain`; the root of the hierarchy has no type. */
function threadedFailure(dir: string): LocateFailure | undefined {
  const type = readTextIfAny(dir, "cgroup.type") ?? "domain";
  if (type === "domain") return undefined;
  return fail(
    "threaded",
    `${dir} has the cgroup.type "${type}", and below such a cgroup no process can be limited by itself: use one that is ` +
      'neither threaded nor below a threaded one ("domain"), such as a new one',
  );
}

function missingFailure(dir: string, { need, procRoot, mount }: Place): LocateFailure | undefined {
  const offered = offeredControllers(dir);
  const missing = need.filter((name) => !offered.includes(name));
  if (missing.length === 0) return undefined;
  const read = (file: string) => readFileSync(`${procRoot}/${file}`, "utf8");
  return explainMissing(dir, missing, {
    isTop: dir === mount.point,
    // Read only after a failure: kernels from 6.15 on log the first reader of this file.
    procCgroups: existsSync(`${procRoot}/cgroups`) ? read("cgroups") : "",
    mountinfo: read("self/mountinfo"),
  });
}

function outsideMount(cgroup: string, mount: Cgroup2Mount): LocateFailure {
  const message =
    `the cgroup ${cgroup} is not visible at ${mount.point}, which shows ${mount.root} of the tree`;
  return fail("outside-mount", message);
}

function isManageable(dir: string): boolean {
  try {
    for (const file of ["", "/cgroup.procs", "/cgroup.subtree_control"]) {
      accessSync(dir + file, constants.W_OK);
    }
    return true;
  } catch {
    return false;
  }
}
