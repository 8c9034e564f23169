/**
 * Names that become folders of the cgroup tree.
 *
 * Guarantee: a name that passed `checkName` is one path component below its parent, is not the name of an interface file, and is not
 * one of the leaves that this library reserves.
 */
import { CgroupError } from "./error.ts";

/** The leaf for the scope's own process and for launchers: outside of every app, so that no kill of an app reaches them. */
export const KEEPER = "keeper";
/** The leaf for the agent itself, if it must live below its own delegated cgroup. */
export const AGENT = "agent";

/** Returns the name if it can be a cgroup, or throws a CgroupError (`EINVAL`). */
export function checkName(name: string): string {
  const problem = problemWith(name);
  if (problem === undefined) return name;
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  throw new CgroupError(`${shown} cannot name a cgroup: ${problem}`, { code: "EINVAL" });
}

/** The kernel's limit for one path component. */
const MAX_LENGTH = 255;

/** Interface files are named `<controller>.<file>`: a folder must not have such a name. */
const CONTROLLERS = new Set(
  ("cgroup cpu cpuset cpuacct io blkio memory hugetlb pids rdma misc dmem perf_event devices freezer net_cls " +
    "net_prio debug irq").split(" "),
);

function problemWith(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (name.length > MAX_LENGTH) return `it has ${name.length} characters, at most ${MAX_LENGTH} are allowed`;
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) {
    return "only letters, digits, '_', '.' and '-' are allowed, the first a letter or digit";
  }
  const dot = name.indexOf(".");
  if (dot > 0 && CONTROLLERS.has(name.slice(0, dot))) return "the kernel uses such names for its own files";
  if (name === KEEPER || name === AGENT || name === "tasks") return "it is reserved";
  return undefined;
}
