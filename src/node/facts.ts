/**
 * Facts about the machine from `node:os` and a few files of the kernel. Reading them takes about a millisecond and no lasting
 * memory (docs/decisions/0006). Facts that need other programs are in hardware.ts.
 */
import { readFile } from "node:fs/promises";
import * as nodeOS from "node:os";
import { join } from "node:path";
import { type Addresses, nodeAddresses } from "./addresses.ts";

export interface NodeFacts {
  hostname: string;
  cpus: number;
  memoryBytes: number;
  /** As Kubernetes names it: amd64, arm64, … */
  architecture: string;
  operatingSystem: string;
  kernelVersion: string;
  /** Such as `Debian GNU/Linux 12 (bookworm)`. */
  osImage: string;
  machineID: string;
  systemUUID: string;
  bootID: string;
  addresses: string[];
}

/** The functions of `node:os` that are used; tests pass their own. */
export type OperatingSystem = Pick<typeof nodeOS, "hostname" | "cpus" | "totalmem" | "release" | "arch"> & {
  networkInterfaces(): Addresses;
};

export interface FactsOptions {
  /** The root of the machine's file system. */
  root?: string;
  os?: OperatingSystem;
}

/** Unknown facts are empty strings. */
export async function readNodeFacts({ root = "/", os = nodeOS }: FactsOptions = {}): Promise<NodeFacts> {
  const read = (path: string) => readFile(join(root, path), "utf8").then((text) => text.trim(), () => "");
  const release = await read("etc/os-release") || await read("usr/lib/os-release");
  const machineID = await read("etc/machine-id") || await read("var/lib/dbus/machine-id");
  return {
    hostname: os.hostname().toLowerCase(),
    cpus: os.cpus().length,
    memoryBytes: os.totalmem(),
    architecture: goArchitecture(os.arch()),
    operatingSystem: "linux",
    kernelVersion: os.release(),
    osImage: prettyName(release),
    machineID,
    systemUUID: await read("sys/class/dmi/id/product_uuid") || machineID,
    bootID: await read("proc/sys/kernel/random/boot_id"),
    addresses: nodeAddresses(
      os.networkInterfaces(),
      await read("proc/net/route"),
      await read("proc/net/ipv6_route"),
    ),
  };
}

/** Returns Kubernetes' name of an architecture. */
export function goArchitecture(arch: string): string {
  return { x64: "amd64", ia32: "386", ppc64: "ppc64le", mipsel: "mipsle" }[arch] ?? arch;
}

/** Returns the system's name for users from an os-release file. */
export function prettyName(osRelease: string): string {
  const value = (field: string) => osRelease.match(new RegExp(`^${field}=(["']?)(.*)\\1$`, "m"))?.[2];
  return value("PRETTY_NAME") ?? value("NAME") ?? "";
}
