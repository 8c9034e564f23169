/**
 * Finds the real parts that tests run against; `install-parts.sh` next to this file installs them.
 *
 * Guarantees: never installs anything. A part is either complete or missing with a reason that says what
 * to do. With `CI=true` a missing part is an error, so that a pipeline cannot turn green by skipping.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findDelegatedCgroup } from "./delegated-cgroup.ts";
import { chooseKernel, type Kernel, type KernelFeature, listKernels } from "./kernels.ts";
import { currentVersion } from "./kubernetes-version.ts";

/** The parts that a test may need: see `install-parts.sh`. */
export type Part =
  | "control-plane"
  | "guest"
  | "systemd-guest"
  | "chromium"
  | "promtool"
  | "fuse"
  | "compilers"
  | "shells"
  | "lua"
  | "tmux";

/** Parts that are made of programs. */
export type ProgramPart = Exclude<Part, "control-plane" | "guest" | "systemd-guest">;

/** A missing part, and why. */
export type Missing = { missing: string };

/** The programs of a control plane. One without controllers and scheduler is complete, such as envtest's. */
export type ControlPlaneParts = {
  apiServer: string;
  etcd: string;
  kubectl: string;
  controllerManager?: string;
  scheduler?: string;
};

/** User-Mode Linux, or the cgroup of this machine in which guest scripts run directly. */
export type GuestParts = { kind: "uml"; kernel: Kernel } | { kind: "direct"; cgroup: string };

/** User-Mode Linux and the disk images of a Debian with systemd and of one with OpenRC. */
export type SystemdGuestParts = { kernel: Kernel; disks: Record<InitSystem, string> };

/** What starts the services of a Debian machine. */
export type InitSystem = "systemd" | "openrc";

/** The folder of the checkout. */
export const checkout = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

/** Returns a value for the `skip` option of a test: why the part is missing, or false. Throws with `CI=true` instead. */
export function skipUnless(part: Part, env = process.env): string | false {
  const found = findPart(part, env);
  if (!("missing" in found)) return false;
  if (env.CI === "true") throw new Error(`CI=true, and a part of the tests is missing: ${found.missing}`);
  return found.missing;
}

/** Returns where the part is, or why it is missing. */
export function findPart(part: Part, env = process.env): object | Missing {
  switch (part) {
    case "control-plane":
      return findControlPlane(env);
    case "guest":
      return findGuest(env);
    case "systemd-guest":
      return findSystemdGuest(env);
    default:
      return findProgram(part, env);
  }
}

/** Returns a value for the `skip` option of a test that needs controllers and kube-scheduler: what is missing, or false. */
export function skipUnlessControllers(env = process.env): string | false {
  const found = findControlPlane(env);
  if ("missing" in found) return skipUnless("control-plane", env);
  const { controllerManager, scheduler, apiServer } = found;
  const absent = !controllerManager ? "kube-controller-manager" : !scheduler ? "kube-scheduler" : undefined;
  return absent ? `the control plane of ${apiServer} has no ${absent}` : false;
}

/** The versions of the control planes that `install-parts.sh` puts into the cache, newest first. */
const installedVersions = [currentVersion, "1.20.2-4"];

/** Returns the folders of the control planes in the cache, newest first. */
export function controlPlaneFolders(env = process.env): string[] {
  return installedVersions.map((version) => join(cacheDir(env), `control-plane-${version}`))
    .filter((folder) => executable(join(folder, "kube-apiserver")));
}

/**
 * Finds the control plane in the cache whose version starts with `version`. Without that it is the one that
 * `KUBEBUILDER_ASSETS` names, else the newest in the cache.
 */
export function findControlPlane(env = process.env, version = ""): ControlPlaneParts | Missing {
  const cached = controlPlaneFolders(env);
  const wanted = cached.find((folder) => basename(folder).startsWith(`control-plane-${version}`));
  const dir = (!version && env.KUBEBUILDER_ASSETS) || wanted ||
    join(cacheDir(env), `control-plane-${version}`);
  const apiServer = executable(join(dir, "kube-apiserver"));
  const etcd = executable(join(dir, "etcd"));
  const kubectl = executable(join(dir, "kubectl")) ??
    cached.map((folder) => executable(join(folder, "kubectl"))).find(Boolean) ?? onPath("kubectl", env);
  const controllerManager = executable(join(dir, "kube-controller-manager"));
  const scheduler = executable(join(dir, "kube-scheduler"));
  if (!apiServer || !etcd || !kubectl) {
    const name = !apiServer ? "kube-apiserver" : !etcd ? "etcd" : "kubectl";
    return missing("control-plane", `no ${name} in ${dir}`);
  }
  const tool = ["openssl", "setpriv"].find((name) => !onPath(name, env));
  return tool
    ? missing("control-plane", `no ${tool} on the PATH`)
    : { apiServer, etcd, kubectl, controllerManager, scheduler };
}

/**
 * This machine where it has a delegated cgroup v2, else User-Mode Linux with these features; `NCKUBELET_GUEST=uml|direct` decides.
 */
export function findGuest(env = process.env, features: KernelFeature[] = []): GuestParts | Missing {
  const cgroup = env.NCKUBELET_GUEST === "uml" ? undefined : findDelegatedCgroup();
  if (cgroup) return { kind: "direct", cgroup };
  if (env.NCKUBELET_GUEST === "direct") {
    return {
      missing: "guest: NCKUBELET_GUEST=direct, but this machine has no delegated cgroup v2 hierarchy",
    };
  }
  const kernel = findKernel(env, features);
  if ("missing" in kernel) return missing("guest", kernel.missing);
  const tool = ["busybox", "bash", "setpriv", "unshare"].find((name) => !onPath(name, env));
  return tool ? missing("guest", `no ${tool} on the PATH`) : { kind: "uml", kernel };
}

/**
 * Returns a value for the `skip` option of a guest test that needs a kernel with these features: why no kernel that has them works
 * here, or false. Unlike a missing part, that is no error with `CI=true` as long as some kernel works.
 */
export function skipUnlessKernel(features: KernelFeature[], env = process.env): string | false {
  const skip = skipUnless("guest", env);
  if (skip || features.length === 0) return skip;
  const found = findGuest(env, features);
  return "missing" in found ? found.missing : false;
}

/** User-Mode Linux, and Debians with systemd and with OpenRC for it to boot. */
export function findSystemdGuest(env = process.env): SystemdGuestParts | Missing {
  const kernel = findKernel(env);
  if ("missing" in kernel) return missing("systemd-guest", kernel.missing);
  const disks = {
    systemd: join(cacheDir(env), "systemd-bookworm-3.img"),
    openrc: join(cacheDir(env), "openrc-bookworm-1.img"),
  };
  const absent = Object.values(disks).find((disk) => !existsSync(disk));
  return absent ? missing("systemd-guest", `no disk ${absent}`) : { kernel, disks };
}

/**
 * The newest kernel in the cache that works on this machine and has the features. `NCKUBELET_KERNEL` is the start of its version; what
 * that kernel may lack runs on another.
 */
function findKernel(env: NodeJS.ProcessEnv, features: KernelFeature[] = []): Kernel | Missing {
  const version = features.length > 0 ? "" : env.NCKUBELET_KERNEL;
  return chooseKernel(listKernels(cacheDir(env)), { version, features });
}

/**
 * The programs of a part that is made of programs: one that a variable names, else that of the cache, else those of the machine. The first
 * one is run.
 */
const programs: Record<ProgramPart, { names: string[]; variable?: string; cached?: string }> = {
  chromium: { names: ["chromium"], variable: "CHROMIUM" },
  promtool: { names: ["promtool"], variable: "PROMTOOL", cached: "promtool-bookworm-1" },
  fuse: { names: ["bindfs", "fusermount3"] },
  // With musl for the launcher, with sanitizers for its tests.
  compilers: { names: ["musl-gcc", "cc"] },
  // The Lua that Argo CD runs is 5.1.
  lua: { names: ["lua5.1"] },
  shells: { names: ["zsh", "fish"] },
  tmux: { names: ["tmux"] },
};

/** Finds a part that is made of programs. */
export function findProgram(part: ProgramPart, env = process.env): { path: string } | Missing {
  const { names, variable = "", cached } = programs[part];
  const [named, unpacked] = [env[variable], cached && join(cacheDir(env), cached)];
  if (named) {
    const path = executable(named);
    return path ? { path } : missing(part, `no ${named}`);
  }
  const kept = unpacked && executable(unpacked);
  if (kept) return { path: kept };
  const found = names.map((name) => onPath(name, env));
  return found.every((path) => path !== undefined)
    ? { path: found[0]! }
    : missing(part, `no ${unpacked ?? `${names.join(" or ")} on the PATH`}`);
}

/** Where parts are kept, outside every checkout. */
export function cacheDir(env = process.env): string {
  return env.NCKUBELET_CACHE ||
    join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "nckubelet");
}

function missing(part: Part, what: string): Missing {
  return { missing: `${part}: ${what}; run test/harness/install-parts.sh ${part} as root on Debian 12` };
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  // On Debian, a user's PATH lacks the sbin folders.
  const folders = [...(env.PATH ?? "").split(delimiter), "/usr/local/bin", "/usr/bin", "/usr/sbin"];
  return folders.map((folder) => executable(join(folder || ".", name))).find((path) => path);
}

/** Returns the path if a program is there. */
export function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}
