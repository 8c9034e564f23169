/** Helpers for the tests of install.sh on a machine with systemd or OpenRC. */
import { execFileSync, spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { manifest } from "../../builders.ts";
import { waitFor } from "../../wait-for.ts";

/** The listing of the machine before the installation, kept across the reboot. */
const listingFile = "/root/listing.json";

/** A share of the CPU and of the memory, in percent, that each app may use. */
const caps = { cpuPCT: 20, memPCT: 10 };
/** Whether systemd runs the services; else OpenRC does. */
export const hasSystemd = existsSync("/run/systemd/system");
const appsRoot = hasSystemd
  ? "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope"
  : "/sys/fs/cgroup/nckubelet-apps/nckubelet";
const server = "http://127.0.0.1:8000";

/** Runs a shell command as a user would: nothing of the test is in its environment. */
export function shell(words: string): { code: number | null; output: string } {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" };
  const { status, stdout, stderr } = spawnSync("sh", ["-c", words], { env, encoding: "utf8" });
  return { code: status, output: stdout + stderr };
}

/** Returns the output of a command that must succeed. */
export function read(words: string): string {
  const { code, output } = shell(words);
  if (code !== 0) throw new Error(`${words}: exit code ${code}\n${output}`);
  return output.trim();
}

/** The same, with retries: a service manager that is still booting may let its caller time out. */
function readPatiently(words: string): string {
  for (let tries = 1; tries < 5; tries++) {
    const { code, output } = shell(words);
    if (code === 0) return output.trim();
  }
  return read(words);
}

/** The command that users type. */
export function install(release: string): { code: number | null; output: string } {
  return shell(`curl -fsSL ${server}/${release}/install.sh | NCKUBELET_URL=${server}/${release} sh`);
}

/** Waits until the releases of the share can be downloaded. */
export async function releasesAreServed(): Promise<void> {
  await waitFor("the release is served", () => shell(`curl -fs ${server}/release-1/SHA256SUMS`).code === 0);
}

/** Writes the listing of this machine as it is before an installation, with the script that apps will run. */
export function keepListing(): void {
  writeFileSync("/opt/app.sh", "#!/bin/sh\nexec sleep infinity\n", { mode: 0o755 });
  writeFileSync(listingFile, JSON.stringify(listing()));
}

/** Returns what keepListing wrote. */
export function keptListing(): string[] {
  return JSON.parse(readFileSync(listingFile, "utf8"));
}

/** Starts one more app, by an agent with another cgroup root for apps, and returns its process. The other apps stay in place. */
export async function startAppBelow(root: string): Promise<number> {
  if (hasSystemd) {
    appendFileSync("/etc/nckubelet/config.yaml", `cgroup-root: ${root}\n`);
    read("systemctl restart nckubelet");
  } else {
    appendFileSync("/etc/nckubelet/agent.env", `NCKUBELET_CGROUP_ROOT=${root}\n`);
    read("rc-service nckubelet restart");
  }
  writeApp("elsewhere");
  return await waitFor(`an app below ${root}`, async () => {
    const pid = (await listApps())?.find(({ metadata }) => metadata.name === "elsewhere")?.status?.pid;
    return pid !== undefined && existsSync(`/proc/${pid}`) && cgroupOf(pid).startsWith(`${root}/`) && pid;
  }, 120_000);
}

/** Writes manifests of `count` apps with caps into the folder that an agent without an API server reads. */
export function writeApps(count: number): void {
  mkdirSync("/etc/nckubelet/manifests", { recursive: true });
  for (let index = 0; index < count; index++) writeApp(`app-${index}`);
}

/** What the service wrote, kept across the reboot. */
const serviceFile = "/root/service.txt";

/**
 * Starts a service and a job under the restart policy OnFailure: after SIGTERM the service works on for a moment and ends with 0,
 * and the job has completed.
 */
export async function startServiceAndJob(): Promise<void> {
  const write = (name: string, text: string) => {
    writeFileSync(`/root/${name}.sh`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return `/root/${name}.sh`;
  };
  const say = (word: string) => `echo ${word} >>${serviceFile}`;
  const onTerm = `${say("SIGTERM")}; sleep 3; ${say("done")}; exit 0`;
  writeApp("service", {
    shellFile: write("service", `${say("started")}\ntrap '${onTerm}' TERM\nwhile :; do sleep 0.2; done`),
    stopFile: write("stop", say("stopFile")),
    restartPolicy: "OnFailure",
  });
  writeApp("job", { shellFile: write("job", "exit 0"), restartPolicy: "OnFailure" });
  await waitFor("the job is done and the service runs", async () => {
    const phase = await phases();
    return phase?.job === "Succeeded" && phase.service === "Running" && existsSync(serviceFile);
  }, 120_000);
}

/** Checks that the shutdown gave the service its stop file and its grace period, that it runs again, and that the job does not. */
export async function checkServiceAndJob(): Promise<void> {
  const said = () => readFileSync(serviceFile, "utf8").trim().split("\n");
  await waitFor("the service runs again", async () => {
    return (await phases())?.service === "Running" &&
      said().filter((word) => word === "started").length === 2;
  }, 120_000);
  assert.deepEqual(said(), [
    "started",
    "stopFile",
    "SIGTERM",
    "done",
    "started",
  ]);
  const apps = await listApps();
  const found = (name: string) => apps?.find(({ metadata }) => metadata.name === name)?.status;
  assert.equal(found("service")?.lastExit?.reason, "NodeRebooted");
  assert.deepEqual([found("job")?.phase, found("job")?.restarts], ["Succeeded", 0]);
}

async function phases(): Promise<Record<string, string | undefined> | undefined> {
  const apps = await listApps();
  return apps && Object.fromEntries(apps.map(({ metadata, status }) => [metadata.name, status?.phase]));
}

function writeApp(name: string, spec: Record<string, unknown> = {}): void {
  const app = manifest(name, { shellFile: "/opt/app.sh", ...caps, ...spec });
  writeFileSync(`/etc/nckubelet/manifests/${name}.yaml`, JSON.stringify(app));
}

/** Waits until this many apps run under their caps, and returns their processes by name. */
export async function runningApps(count: number): Promise<Record<string, number>> {
  let seen = "no answer";
  const look = async () => {
    const items = await listApps();
    if (!items) return undefined;
    seen = items.map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.pid}`).join(", ");
    const running = items.filter(({ status }) => status?.phase === "Running" && isConfined(status.pid));
    return running.length === count &&
      Object.fromEntries(running.map(({ metadata, status }) => [metadata.name, status!.pid]));
  };
  const apps = await waitFor("all apps run", look, 300_000).catch((error) => {
    throw new Error(`the agent told: ${seen}`, { cause: error });
  });
  for (const pid of Object.values(apps)) checkCaps(pid);
  return apps;
}

interface ToldApp {
  metadata: { name: string };
  status?: { phase: string; pid: number; restarts: number; lastExit?: { reason?: string } };
}

/** Returns the agent's view of its apps; undefined while it does not answer. */
async function listApps(): Promise<ToldApp[] | undefined> {
  const tokenFile = "/var/lib/nckubelet/token";
  if (!existsSync(tokenFile)) return undefined;
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const answer = await fetch("http://127.0.0.1:10268/apps", { headers }).catch(() => undefined);
  if (!answer?.ok) return undefined;
  return (await answer.json() as { items: ToldApp[] }).items;
}

/** After a reboot the agent may still report the process of the previous boot. */
function isConfined(pid: number): boolean {
  try {
    return cgroupOf(pid).startsWith(`${appsRoot}/`);
  } catch {
    return false;
  }
}

/** Returns the caps of an app's process in the kernel. */
function checkCaps(pid: number): void {
  const app = `${appsRoot}/${cgroupOf(pid).slice(appsRoot.length + 1).split("/")[0]}`;
  const total = Number(/MemTotal: +(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
  const value = (file: string) => readFileSync(`${app}/${file}`, "utf8").trim();
  const found = `${value("cpu.max")}, ${Math.round(100 * Number(value("memory.max")) / total)}%`;
  const wanted = `${caps.cpuPCT * 1000} 100000, ${caps.memPCT}%`;
  if (found !== wanted) throw new Error(`the caps of ${app} are ${found}, not ${wanted}`);
}

function cgroupOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cgroup`, "utf8").trim().replace("0::", "/sys/fs/cgroup");
}

/** Returns everything that an installation could leave behind: paths, units, processes, cgroups. */
export function listing(): string[] {
  // Files that a running system writes by itself.
  const own = [
    ...[
      "/var/log/journal",
      "/var/log/dmesg*",
      "/var/lib/systemd",
      "/var/cache/ldconfig",
      "/usr/lib/rc/cache",
    ],
    ...["/tmp", "/var/tmp", "/root"],
  ];
  const pruned = own.map((path) => `-path '${path}' -prune -o`).join(" ");
  const services = hasSystemd
    ? ["systemctl list-units --all --no-legend --plain", "systemctl list-unit-files --no-legend"]
    : ["rc-status --all"];
  const units = services.map((words) =>
    readPatiently(words).split("\n").filter((line) => line.includes("nckubelet")).join("\n")
  );
  return [
    read(`find / -xdev ${pruned} -print | sort`),
    read(
      "find /run -path /run/systemd -prune -o -path /run/log -prune -o -path /run/udev -prune -o -print | grep nckubelet || :",
    ),
    ...units,
    read("find /sys/fs/cgroup -type d -name '*nckubelet*'"),
    execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n")
      .filter((line) => /nckubelet agent|app\.sh|sleep infinity/.test(line)).join("\n"),
  ].join("\n").split("\n").filter((line) => line !== "");
}
