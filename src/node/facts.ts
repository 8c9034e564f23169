/**
 * What is known about the machine without asking anybody: from `node:os` and a few files of the kernel. One reading costs about
 * a millisecond and no lasting memory (docs/decisions/0006). What it takes programs to find out is in hardware.ts.
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

/** What is asked of the operating system; tests bring their own. */
export type OperatingSystem = Pick<typeof nodeOS, "hostname" | "cpus" | "totalmem" | "release" | "arch"> & {
  networkInterfaces(): Addresses;
};

export interface FactsOptions {
  /** Where the file system of the machine begins. */
  root?: string;
  os?: OperatingSystem;
}

/** Reads the facts. What a machine does not tell is an empty text. */
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

/** Node's name of an architecture, in the words of Kubernetes. */
export function goArchitecture(arch: string): string {
  return { x64: "amd64", ia32: "386", ppc64: "ppc64le", mipsel: "mipsle" }[arch] ?? arch;
}

/** The name that an os-release file gives the system for people. */
export function prettyName(osRelease: string): string {
  const value = (field: string) => osRelease.match(new RegExp(`^${field}=(["']?)(.*)\\1$`, "m"))?.[2];
  return value("PRETTY_NAME") ?? value("NAME") ?? "";
}
