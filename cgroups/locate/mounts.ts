/** Parses what `/proc` says about cgroups into facts and failures. Pure. */
import { dirname } from "node:path";

/** Why there is no usable root. `missing` lists missing controllers, if they are the reason. */
export interface LocateFailure {
  ok: false;
  reason:
    | "no-cgroup2"
    | "v1-only"
    | "hybrid"
    | "read-only"
    | "controller-disabled"
    | "controller-missing"
    | "controller-not-delegated"
    | "not-delegated"
    | "outside-mount"
    | "busy"
    | "not-a-cgroup"
    | "threaded"
    | "systemd-failed"
    | "unusable";
  message: string;
  missing?: string[];
}

export interface Cgroup2Mount {
  point: string;
  /** The cgroup at the mount point: `/`, unless a part of the hierarchy is bind-mounted. */
  root: string;
  readOnly: boolean;
}

/** Returns the cgroup v2 mount to use: the one that contains `under` if given, else the nearest to `sysRoot`. */
export function findMount(
  mountinfo: string,
  { sysRoot, under }: { sysRoot: string; under?: string | undefined },
): { ok: true; mount: Cgroup2Mount } | LocateFailure {
  const mounts = parseMountinfo(mountinfo);
  const unified = mounts.filter(({ type }) => type === "cgroup2");
  const legacy = mounts.filter(({ type }) => type === "cgroup");
  const fitting = under === undefined ? unified : unified.filter(({ point }) => isWithin(under, point));
  const rank = ({ point }: Mount) => point === sysRoot ? 0 : isWithin(point, sysRoot) ? 1 : 2;
  const found = under === undefined
    ? fitting.sort((a, b) => rank(a) - rank(b))[0]
    : fitting.sort((a, b) => b.point.length - a.point.length)[0];
  if (found === undefined && under !== undefined && unified.length > 0) {
    const seen = unified.map(({ point }) => point).join(", ");
    return fail("not-a-cgroup", `${under} is not in a cgroup v2 file system (mounted here: ${seen})`);
  }
  if (found === undefined && legacy.length > 0) {
    const seen = legacy.map(({ point }) => point).join(", ");
    return fail(
      "v1-only",
      `only cgroup v1 is mounted (${seen}): boot with systemd.unified_cgroup_hierarchy=1, or with cgroup_no_v1=all`,
    );
  }
  if (found === undefined) {
    return fail("no-cgroup2", `no cgroup v2 file system is mounted: mount -t cgroup2 none ${sysRoot}`);
  }
  const mount = { point: found.point, root: found.root, readOnly: found.readOnly };
  if (!mount.readOnly) return { ok: true, mount };
  return fail(
    "read-only",
    `cgroup v2 at ${mount.point} is mounted read-only: remount it read-write, or run a container with a ` +
      "writable cgroup of its own",
  );
}

/** The folder of a process's own cgroup, from its `/proc/PID/cgroup`; undefined when the mount does not show it. */
export function ownCgroup(procCgroup: string, mount: Cgroup2Mount): string | undefined {
  const line = procCgroup.split("\n").find((text) => text.startsWith("0::"));
  // "/.." at the start: the process is outside of this cgroup namespace.
  if (line === undefined || line.startsWith("0::/..")) return undefined;
  return inMount(line.slice(3), mount);
}

/** The folder of a cgroup path within a mount; undefined when the mount does not show it. */
export function inMount(cgroup: string, mount: Cgroup2Mount): string | undefined {
  if (!isWithin(cgroup, mount.root)) return undefined;
  const rest = mount.root === "/" ? cgroup : cgroup.slice(mount.root.length);
  return rest === "/" || rest === "" ? mount.point : `${mount.point}${rest}`;
}

export function explainMissing(
  dir: string,
  missing: string[],
  { isTop, procCgroups, mountinfo }: { isTop: boolean; procCgroups: string; mountinfo: string },
): LocateFailure {
  const known = parseProcCgroups(procCgroups);
  const held = missing.filter((name) => (known.get(name)?.hierarchy ?? 0) !== 0);
  if (held.length > 0) {
    const legacy = parseMountinfo(mountinfo).filter(({ type }) => type === "cgroup");
    const where = held.map((name) =>
      legacy.find(({ options }) => options.includes(name))?.point ?? "unmounted"
    );
    return fail(
      "hybrid",
      `cgroup v1 holds ${list(held)} (${where.join(", ")}), so cgroup v2 cannot enforce: boot with ` +
        "systemd.unified_cgroup_hierarchy=1, or with cgroup_no_v1=all",
      missing,
    );
  }
  const disabled = missing.filter((name) => known.get(name)?.enabled === false);
  if (disabled.length > 0) {
    return fail(
      "controller-disabled",
      `${list(disabled)} ${
        isOrAre(disabled)
      } disabled on the kernel command line: remove cgroup_disable=${disabled.join()} ` +
        `or add ${disabled.map((name) => `cgroup_enable=${name}`).join(" ")}`,
      missing,
    );
  }
  const unknown = missing.filter((name) => !known.has(name));
  // Kernels built without v1 (6.15 and later) leave v2-only controllers out of /proc/cgroups.
  if (unknown.length > 0 && known.size > 0 && known.has("memory")) {
    return fail("controller-missing", `this kernel is built without ${list(unknown)}`, missing);
  }
  const giver = isTop ? "the runtime of this container" : `its parent ${dirname(dir)}`;
  return fail(
    "controller-not-delegated",
    `${list(missing)} ${isOrAre(missing)} not delegated to ${dir}: ${giver} must enable ` +
      `${missing.length === 1 ? "it" : "them"} in cgroup.subtree_control ` +
      `(for a systemd unit: Delegate=yes)`,
    missing,
  );
}

export function fail(reason: LocateFailure["reason"], message: string, missing?: string[]): LocateFailure {
  return { ok: false, reason, message, ...(missing ? { missing } : {}) };
}

/** Reports whether `path` is `parent` or below it. */
export function isWithin(path: string, parent: string): boolean {
  return parent === "/" ? path.startsWith("/") : path === parent || path.startsWith(`${parent}/`);
}

interface Mount extends Cgroup2Mount {
  type: string;
  options: string[];
}

/** Mounts by mount point: a later mount hides an earlier one at the same point. */
function parseMountinfo(text: string): Mount[] {
  const byPoint = new Map<string, Mount>();
  for (const line of text.split("\n")) {
    const [before, after] = line.split(" - ");
    const [, , , root, point, flags] = (before ?? "").split(" ");
    const [type, , options] = (after ?? "").split(" ");
    if (root === undefined || point === undefined || type === undefined) continue;
    const all = (options ?? "").split(",");
    byPoint.set(unescape(point), {
      point: unescape(point),
      root: unescape(root),
      type,
      options: all,
      readOnly: (flags ?? "").split(",").includes("ro") || all.includes("ro"),
    });
  }
  return [...byPoint.values()];
}

function parseProcCgroups(text: string): Map<string, { hierarchy: number; enabled: boolean }> {
  const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(rows.map((line) => {
    const [name = "", hierarchy, , enabled] = line.split("\t");
    // This file uses the v1 name of the io controller.
    return [name === "blkio" ? "io" : name, { hierarchy: Number(hierarchy), enabled: enabled !== "0" }];
  }));
}

/** mountinfo escapes a space, tab, line end and backslash as three octal digits. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(parseInt(digits, 8)));
}

function isOrAre(names: string[]): string {
  return names.length === 1 ? "is" : "are";
}

function list(names: string[]): string {
  return `${names.length === 1 ? "controller" : "controllers"} ${names.join(", ")}`;
}
