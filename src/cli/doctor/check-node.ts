/** The checks of the node itself. They change nothing. */
import { access, constants, readFile, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { explainMissing, findMount, type LocateFailure, ownCgroup } from "../../../cgroups/mod.ts";
import { errorCode } from "../../lib/files.ts";
import { version } from "../../lib/version.ts";
import { cleanPath } from "../../lib/shell.ts";
import { hasHelper } from "../../supervisor/launcher/launcher.ts";
import type { AgentClient, AgentStatus } from "../agent-api/agent-api.ts";

/** One line of `nckubelet doctor`. The message of a problem says how to fix it. */
export interface Finding {
  check: string;
  level: "ok" | "warning" | "problem";
  message: string;
}

const needed = ["cpu", "memory", "pids"];
const mebibyte = 2 ** 20;

/** Checks whether limits can be enforced: cgroup v2 with its controllers, and the permission to use it. */
export async function checkCgroups(
  { cgroupRoot, enforce }: { cgroupRoot?: string; enforce?: "strict" | "best-effort" },
  { procRoot = "/proc", sysRoot = "/sys/fs/cgroup", uid = process.geteuid?.() ?? 0 } = {},
): Promise<Finding[]> {
  const check = "cgroup v2";
  const mountinfo = await readFile(join(procRoot, "self/mountinfo"), "utf8");
  const under = cgroupRoot === undefined ? undefined : resolve(cgroupRoot);
  const found = findMount(mountinfo, { sysRoot, under });
  const noLimits = ({ message }: Pick<LocateFailure, "message">): Finding =>
    enforce === "best-effort" ? { check, ...unlimited(message, true) } : { check, level: "problem", message };
  if (!found.ok) return [noLimits(found)];
  const { mount } = found;
  const own = uid === 0
    ? mount.point
    : ownCgroup(await readFile(join(procRoot, "self/cgroup"), "utf8"), mount);
  const dir = under ?? own ?? mount.point;
  const offered = (await readFile(join(dir, "cgroup.controllers"), "utf8").catch(() => "")).split(/\s+/);
  const missing = needed.filter((name) => !offered.includes(name));
  if (missing.length > 0) {
    const procCgroups = await readFile(join(procRoot, "cgroups"), "utf8").catch(() => "");
    const facts = { isTop: dir === mount.point, procCgroups, mountinfo };
    return [noLimits(explainMissing(dir, missing, facts))];
  }
  if (!await canWrite(join(dir, "cgroup.subtree_control"))) {
    const message = `user ${uid} may not manage ${dir}: run the agent as root, or with ` +
      "systemd-run --user --scope -p Delegate=yes";
    return [noLimits({ message })];
  }
  return [{ check, level: "ok", message: `${dir} offers ${needed.join(", ")}` }];
}

function unlimited(message: string, isBestEffort: boolean): Pick<Finding, "level" | "message"> {
  return isBestEffort
    ? { level: "warning", message: `apps start without caps: ${message}` }
    : { level: "problem", message: `apps with caps cannot start: ${message}` };
}

/** Checks the programs that apps need: the launcher of this program, and sh. */
export async function checkTools(path: string = cleanPath, isBuilt = hasHelper()): Promise<Finding[]> {
  const check = "programs";
  if (!isBuilt) {
    const message = `this program was built without a launcher for ${process.arch}, so no app can start`;
    return [{ check, level: "problem", message }];
  }
  if (await findProgram("sh", path) === undefined) {
    return [{ check, level: "problem", message: `sh not found in ${path}: install a shell` }];
  }
  if (await findProgram("script", path) === undefined) {
    const message = "script not found, so exec has no terminal: install util-linux (Debian: bsdutils)";
    return [{ check, level: "warning", message }];
  }
  return [{ check, level: "ok", message: "sh and script are installed" }];
}

export async function checkDisk(
  { stateDir, logDir }: { stateDir: string; logDir: string },
): Promise<Finding[]> {
  return await Promise.all([["state", stateDir], ["logs", logDir]].map(async ([what, folder = ""]) => {
    const check = `disk for ${what}`;
    const { path, missing } = await nearest(folder);
    if (!await canWrite(path)) {
      const next = missing
        ? "run the agent as root, or choose another folder"
        : "run doctor as the agent's user";
      return { check, level: "problem", message: `you may not write to ${path}: ${next}` };
    }
    const { bavail, bsize, ffree, files } = await statfs(path);
    const free = Math.floor(bavail * bsize / mebibyte);
    const message = `${free} MiB free at ${path}`;
    if (free < 100) return { check, level: "problem", message: `only ${message}: free some space` };
    if (files > 0 && ffree < 1000) {
      return { check, level: "problem", message: `only ${ffree} inodes free at ${path}: remove small files` };
    }
    if (free < 1024) return { check, level: "warning", message: `only ${message}: logs may fill it` };
    return { check, level: "ok", message };
  })) as Finding[];
}

/** The agent's own checks that doctor makes itself, or reports from another field. */
const checkedOtherwise = /^(source-.*|cgroups|disk|api-server|authorization)$/;

/** Checks whether an agent runs, and what it reports about itself. */
export async function checkAgent(client: Pick<AgentClient, "status">): Promise<Finding[]> {
  const check = "agent";
  try {
    const { version: its, node, sources, limits, launcher, problems, checks } = await client.status();
    return [
      its === version ? { check, level: "ok", message: `version ${its} runs node ${node}` } : {
        check,
        level: "warning",
        message: `the agent runs version ${its}, this is ${version}: restart the agent`,
      },
      ...(limits.enforced ? [] : [
        {
          check: "limits",
          ...unlimited(limits.message, !limits.strict),
        },
      ]),
      describeLauncher(launcher),
      ...sources.filter(({ ready }) => !ready).map(({ name, message }): Finding => (
        { check: `source ${name}`, level: "problem", message }
      )),
      ...checks.filter(({ name, ok }) => !ok && !checkedOtherwise.test(name)).map((
        { name, message },
      ): Finding => (
        { check: name, level: "problem", message }
      )),
      ...problems.map(({ message, origin }): Finding => (
        {
          check: "manifest",
          level: "warning",
          message: origin && !message.startsWith(origin) ? `${origin}: ${message}` : message,
        }
      )),
    ];
  } catch (error) {
    return [{ check, level: "problem", message: (error as Error).message }];
  }
}

function describeLauncher({ kind, message }: AgentStatus["launcher"]): Finding {
  const check = "launcher";
  return kind === "native"
    ? { check, level: "ok", message }
    : { check, level: "problem", message: `no app can start: ${message}` };
}

async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":")) {
    const file = join(folder, name);
    if (await access(file, constants.X_OK).then(() => true, () => false)) return file;
  }
  return undefined;
}

/** Returns the folder, or its closest parent that exists. */
async function nearest(folder: string): Promise<{ path: string; missing: boolean }> {
  for (let path = resolve(folder);; path = dirname(path)) {
    try {
      await access(path);
      return { path, missing: path !== resolve(folder) };
    } catch (error) {
      if (path === "/" || errorCode(error) !== "ENOENT") return { path, missing: false };
    }
  }
}

function canWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(() => true, () => false);
}
