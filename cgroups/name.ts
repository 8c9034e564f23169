/**
 * Names that become folders of the cgroup tree.
 *
 * Guarantee: a name that passed `checkName` is one path component inside its parent, is no interface file of
 * any controller, and is none of the leaves that this library keeps for itself.
 */
import { createHash } from "node:crypto";
import { CgroupError } from "./error.ts";

/** Leaf for the scope's own process and for launchers: outside of every app, so no app's kill reaches them. */
export const KEEPER = "keeper";
/** Leaf for the agent itself, where it must live below its own delegated cgroup. */
export const AGENT = "agent";

/** Returns the name if it may become a cgroup, throws a CgroupError (`EINVAL`) if not. */
export function checkName(name: string): string {
  const trouble = troubleWith(name);
  if (trouble === undefined) return name;
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  throw new CgroupError(`${shown} cannot name a cgroup: ${trouble}`, {
    path: "",
    value: name,
    code: "EINVAL",
  });
}

/** The cgroup of an app: `default_web`. Pairs too long for a folder name end in a digest, so none collide. */
export function appName(namespace: string, name: string): string {
  const full = `${namespace}_${name}`;
  if (full.length <= LONGEST) return checkName(full);
  const digest = createHash("sha256").update(full).digest("hex").slice(0, 32);
  return checkName(`${full.slice(0, LONGEST - digest.length - 1)}_${digest}`);
}

/** The kernel's own bound for one path component. */
const LONGEST = 255;

/** Interface files are `<controller>.<something>`: a folder must never take such a name. */
const CONTROLLERS = new Set(
  ("cgroup cpu cpuset cpuacct io blkio memory hugetlb pids rdma misc dmem perf_event devices freezer net_cls " +
    "net_prio debug irq").split(" "),
);

function troubleWith(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (name.length > LONGEST) return `it has ${name.length} characters, at most ${LONGEST} fit`;
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) {
    return "only letters, digits, '_', '.' and '-' are allowed, the first a letter or digit";
  }
  const dot = name.indexOf(".");
  if (dot > 0 && CONTROLLERS.has(name.slice(0, dot))) return "the kernel names its own files that way";
  if (name === KEEPER || name === AGENT || name === "tasks") return "it is reserved";
  return undefined;
}
