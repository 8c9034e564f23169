/**
 * One pass over 1,000 cgroups: reading their figures, and checking their limits when there is nothing to do.
 *
 * Where this machine has no delegated cgroup v2, the pass runs in User-Mode Linux, where a system call costs twenty times and more: so
 * the limit beside it is the same number of the same calls (open, read, close of a small kernfs file) on this machine itself.
 */
import { Buffer } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { guestKind, inGuest } from "../../test/harness/guest.ts";
import type { Benchmark, Figure } from "../benchmark.ts";
import { median } from "../statistics.ts";

const cgroups = 1000;
const filesEach = 6;

export const cgroupStats: Benchmark = {
  name: "cgroup-stats",
  about: "One pass over 1,000 cgroups: their figures, and their limits when there is nothing to do.",
  needs: ["guest"],
  run: measure,
};

async function measure(): Promise<Figure[]> {
  const { code, output } = await inGuest(`exec node bench/cgroup-pass.ts ${cgroups}`, { timeoutMs: 240_000 });
  const json = /^\{.*\}/m.exec(output)?.[0];
  if (code !== 0 || !json) throw new Error(`the pass ended with ${code}:\n${output}`);
  const { statsMs, limitsMs }: { statsMs: number; limitsMs: number } = JSON.parse(json);
  const limit = { what: "the same reads, this machine", value: readPlainKernfs() };
  const note = guestKind() === "uml" ? "in User-Mode Linux, whose system calls are slow" : undefined;
  return [
    { figure: `figures of ${cgroups} cgroups, one pass`, ours: statsMs, unit: "ms", limit, note },
    { figure: `limits of ${cgroups} cgroups checked, one pass`, ours: limitsMs, unit: "ms", note },
  ];
}

/** The system calls of one pass, on a file that every Linux has. */
function readPlainKernfs(rounds = 5): number {
  const buffer = Buffer.allocUnsafe(16_384);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let count = 0; count < cgroups * filesEach; count++) {
      const fd = openSync("/sys/kernel/mm/transparent_hugepage/enabled", "r");
      buffer.toString("latin1", 0, readSync(fd, buffer, 0, buffer.length, null));
      closeSync(fd);
    }
    times.push(performance.now() - start);
  }
  return median(times);
}
