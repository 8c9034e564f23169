/**
 * Boots each User-Mode Linux kernel in the cache that was not tried on this machine, and writes down whether it works and what it has:
 * see kernels.ts. Prints a line for each of them; the exit code is 1 if none works.
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { inUserModeLinux } from "./guest.ts";
import {
  type Candidate,
  type KernelFeature,
  listKernels,
  machineId,
  type Verdict,
  verdictFile,
} from "./kernels.ts";
import { cacheDir } from "./parts.ts";

// What the tests need: the controllers, and a Node that starts processes.
const script = `
set -e
for controller in cpu memory pids io; do grep -qw $controller /sys/fs/cgroup/cgroup.controllers; done
node -e '
  const { execFileSync } = require("node:child_process");
  for (let i = 0; i < 20; i++) execFileSync("/bin/true");
'
echo "-cpu -memory -pids -io" > /sys/fs/cgroup/cgroup.subtree_control
umount /sys/fs/cgroup
if mount -t cgroup -o memory v1 /sys/fs/cgroup 2>/dev/null; then echo "has cgroup-v1-memory"; fi
echo "it works"
`;

/**
 * Tries one kernel. Since 6.16, programs may hand over their system calls by seccomp and a signal, which takes half the CPU time of
 * ptrace; where that does not work, ptrace may. Older kernels ignore the parameter.
 */
export async function tryKernel(kernel: Candidate): Promise<Verdict> {
  const fast = await tryWith({ ...kernel, parameters: ["seccomp=auto"] });
  return fast.problem ? await tryWith({ ...kernel, parameters: [] }) : fast;
}

async function tryWith(kernel: Candidate): Promise<Verdict> {
  const { parameters, folder } = kernel;
  const verdict: Verdict = { machine: machineId(folder), parameters, features: [] };
  try {
    const { code, output } = await inUserModeLinux(kernel, script, { timeoutMs: 60_000, silenceMs: 20_000 });
    const features = [...output.matchAll(/^has (\S+)$/gm)].map(([, feature]) => feature as KernelFeature);
    if (output.trimEnd().endsWith("it works")) return { ...verdict, features };
    return { ...verdict, problem: `exit code ${code}: ${output.trim().split("\n").at(-1)}` };
  } catch (error) {
    return { ...verdict, problem: (error as Error).message.split("; its last lines")[0]! };
  }
}

if (import.meta.main) {
  const kernels = listKernels(cacheDir());
  for (const kernel of kernels) {
    if (kernel.verdict) continue;
    kernel.verdict = await tryKernel(kernel);
    writeFileSync(verdictFile(kernel.folder), `${JSON.stringify(kernel.verdict)}\n`);
    const { problem } = kernel.verdict;
    console.log(`User-Mode Linux ${kernel.version} ${problem ? `does not work here: ${problem}` : "works"}`);
  }
  process.exitCode = kernels.some(({ verdict }) => !verdict!.problem) ? 0 : 1;
}
