/** What the tests of install.sh look at on a machine with systemd. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { waitFor } from "../../wait-for.ts";

/** Where the paths that were there before are kept over the reboot. */
export const listingFile = "/root/listing.json";
/** How many apps run. */
export const appCount = 20;
/** A share of the CPU and of the memory, in percent, that each app may use. */
export const caps = { cpuPCT: 20, memPCT: 10 };

const scope = "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope";

/** Runs a shell command as a person would: nothing of the test is in its environment. */
export function shell(words: string): { code: number | null; output: string } {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" };
  const { status, stdout, stderr } = spawnSync("sh", ["-c", words], { env, encoding: "utf8" });
  return { code: status, output: stdout + stderr };
}

/** What the command prints; it has to succeed. */
export function read(words: string): string {
  const { code, output } = shell(words);
  if (code !== 0) throw new Error(`${words}: exit code ${code}\n${output}`);
  return output.trim();
}

/** The processes of the apps by name, once all of them run. */
export async function runningApps(): Promise<Record<string, number>> {
  return await waitFor("all apps run", async () => {
    const answer = await fetch("http://127.0.0.1:10268/apps").catch(() => undefined);
    if (!answer?.ok) return undefined;
    const { items } = await answer.json() as {
      items: { metadata: { name: string }; status?: { phase: string; pid: number } }[];
    };
    const running = items.filter(({ status }) => status?.phase === "Running" && isInScope(status.pid));
    return running.length === appCount &&
      Object.fromEntries(running.map(({ metadata, status }) => [metadata.name, status!.pid]));
  }, 180_000);
}

/** The caps as the kernel has them for an app's process, wherever it is. */
export function capsOf(pid: number): { cgroup: string; cpuMax: string; memoryShare: number } {
  const cgroup = readFileSync(`/proc/${pid}/cgroup`, "utf8").trim().replace("0::", "/sys/fs/cgroup");
  const total = Number(/MemTotal: +(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
  const value = (file: string) => readFileSync(`${scopeChild(cgroup)}/${file}`, "utf8").trim();
  return {
    cgroup: scopeChild(cgroup),
    cpuMax: value("cpu.max"),
    memoryShare: Math.round(100 * Number(value("memory.max")) / total),
  };
}

/** After a reboot the agent may still tell the process of the boot before. */
function isInScope(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes("/nckubelet-apps.scope/");
  } catch {
    return false;
  }
}

function scopeChild(cgroup: string): string {
  if (!cgroup.startsWith(`${scope}/`)) throw new Error(`${cgroup} is not in ${scope}`);
  return `${scope}/${cgroup.slice(scope.length + 1).split("/")[0]}`;
}

/** All that an installation could leave behind: paths, units, processes, cgroups. */
export function listing(): string[] {
  // What a running system writes by itself.
  const own = ["/var/log/journal", "/var/lib/systemd", "/var/cache/ldconfig", "/tmp", "/var/tmp", "/root"];
  const pruned = own.map((path) => `-path ${path} -prune -o`).join(" ");
  return [
    read(`find / -xdev ${pruned} -print | sort`),
    read(
      "find /run -path /run/systemd -prune -o -path /run/log -prune -o -path /run/udev -prune -o -print | grep nckubelet || :",
    ),
    read("systemctl list-units --all --no-legend --plain | grep -o '^nckubelet[^ ]*' || :"),
    read("systemctl list-unit-files --no-legend | grep -o '^nckubelet[^ ]*' || :"),
    read("find /sys/fs/cgroup -type d -name '*nckubelet*'"),
    execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n")
      .filter((line) => /nckubelet agent|app\.sh|sleep infinity/.test(line)).join("\n"),
  ].join("\n").split("\n").filter((line) => line !== "");
}
