import type { NodeFacts } from "../../src/node/facts.ts";
import { type NodePicture } from "../../src/node/node-object.ts";
import { noPressure } from "../../src/node/pressure.ts";
import type { NodeUsage } from "../../src/node/usage.ts";

export const start = Date.parse("2030-01-01T00:00:00Z");
export const gibibyte = 1 << 30;

export const facts: NodeFacts = {
  hostname: "edge-7.example.com",
  cpus: 4,
  memoryBytes: 8 * gibibyte,
  architecture: "arm64",
  operatingSystem: "linux",
  kernelVersion: "6.1.0",
  osImage: "Debian GNU/Linux 12 (bookworm)",
  machineID: "3d12",
  systemUUID: "4c4c",
  bootID: "5d5d",
  addresses: ["192.0.2.7", "2001:db8::7"],
};

export const calmUsage: NodeUsage = {
  cpuPCT: 12.34,
  memPCT: 25,
  memoryBytes: 2 * gibibyte,
  memoryTotalBytes: 8 * gibibyte,
  memoryAvailableBytes: 6 * gibibyte,
  threads: 300,
  maxThreads: 32_768,
  disk: { availableBytes: 50 * gibibyte, totalBytes: 100 * gibibyte, freeInodes: 900, inodes: 1000 },
};

export const picture: NodePicture = {
  name: "edge-7",
  version: "1.2.3",
  facts,
  reserved: { cpuPCT: 10, memPCT: 5 },
  diskBytes: 100 * gibibyte,
  pressures: noPressure(start),
  ready: { ready: true, message: "all is well" },
};
