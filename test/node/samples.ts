import type { AgentIdentity } from "../../src/node/holder.ts";
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

export const identity: AgentIdentity = {
  host: "edge-7",
  state: "5ca1ab1e",
  boot: "b0071",
  process: "42-7",
  isRunning: (process) => process === "43-7",
};
export const holder = "edge-7_5ca1ab1e_b0071_42-7";

export const calmUsage: NodeUsage = {
  time: 1_700_000_000_000,
  cpuSeconds: 1234.5,
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
  pressures: noPressure,
  ready: { ready: true, message: "all is well" },
};
