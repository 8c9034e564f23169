/** Collects the evidence: from the API server, /proc, the witness, the disks of the nodes. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { instanceName } from "../../../src/cli/config/config.ts";
import { runOfMark } from "../../../src/supervisor/run/run.ts";
import { runsOf } from "../../../src/supervisor/run-ref.ts";
import type { Evidence, LineNotes, NodeEvidence, Trace } from "./evidence.ts";
import type { Fleet } from "./fleet.ts";
import { findLive } from "./live.ts";
import type { StormNode } from "./node.ts";
import { readRecords } from "./records.ts";
import { readWitness } from "./witness.ts";
import type { Workload } from "./workload.ts";

export interface Sources {
  stormId: string;
  workload: Pick<Workload, "objects" | "list" | "past">;
  fleet?: Pick<Fleet, "evidence">;
  nodes: JudgedNode[];
  witnessFile: string;
  linesDir: string;
  /** The nodes whose log disk was ever full. */
  filledLogs: Set<string>;
}

/** The parts of a node that are read. */
export type JudgedNode = Pick<StormNode, "name" | "stateDir" | "logDir" | "url" | "log">;

/** Returns all evidence; undefined while the API server does not answer. */
export async function gather(sources: Sources): Promise<Evidence | undefined> {
  const { stormId, workload, witnessFile, linesDir, filledLogs } = sources;
  const objects = await workload.objects();
  const fleet = await sources.fleet?.evidence();
  if (!objects || sources.fleet && !fleet) return undefined;
  // Read before the logs: a recorded line is already in the log.
  const lines = await readNotes(linesDir);
  const nodes = await Promise.all(sources.nodes.map(async (node): Promise<NodeEvidence> => ({
    name: node.name,
    readiness: await readReadiness(node.url),
    log: await node.log(),
    appLogs: await readAppLogs(node.logDir),
    logsWereFull: filledLogs.has(node.name),
    traces: await findTraces(node),
  })));
  const apps = workload.list();
  const past = [...workload.past];
  const live = await findLive(stormId);
  const stories = readWitness(await readFile(witnessFile, "utf8"));
  return { objects, apps, past, live, stories, nodes, lines, fleet };
}

async function readReadiness(url: string): Promise<string> {
  try {
    const answer = await fetch(`${url}/readyz?verbose`, { signal: AbortSignal.timeout(5000) });
    const text = await answer.text();
    return answer.ok ? "ok" : text.split("\n").filter((line) => line.startsWith("[-]")).join("; ") || text;
  } catch (error) {
    return (error as Error).message;
  }
}

async function readNotes(folder: string): Promise<Map<string, LineNotes>> {
  const notes = new Map<string, LineNotes>();
  for (const run of await readdir(folder)) {
    const text = await readFile(join(folder, run), "utf8");
    const numbers = (word: string) =>
      [...text.matchAll(new RegExp(`^${word} (\\d+)\\n`, "gm"))].map(([, number]) => Number(number));
    notes.set(run, { wrote: numbers("wrote"), failed: numbers("failed") });
  }
  return notes;
}

/** Oldest part first. */
async function readAppLogs(logDir: string): Promise<Map<string, string>> {
  const logs = new Map<string, string>();
  for (const folder of await list(logDir)) {
    const parts = (await list(join(logDir, folder))).filter((name) => /^app\.log\.\d+$/.test(name)).sort();
    const texts = parts.map((name) => readFile(join(logDir, folder, name), "utf8").catch(() => ""));
    logs.set(appOf(folder), (await Promise.all(texts)).join(""));
  }
  return logs;
}

/** Returns all traces of apps and runs, except runs that a record still refers to. */
async function findTraces(node: JudgedNode): Promise<Trace[]> {
  const { stateDir, logDir } = node;
  const known = await knownRuns(join(stateDir, "apps"));
  const ofApp = async (folder: string, what: string) =>
    (await list(folder)).filter((name) => name.startsWith("default_"))
      .map((name): Trace => ({ where: `${what} ${name}`, app: appOf(name) }));
  const ofRun = (runs: (string | undefined)[], what: string) =>
    [...new Set(runs)].filter((run) => run !== undefined && !known.has(run))
      .map((run): Trace => ({ where: `${what} ${run}`, run }));
  const cgroups = await findCgroups(stateDir);
  return [
    ...await ofApp(join(stateDir, "apps"), "the state"),
    ...await ofApp(logDir, "the log"),
    ...ofRun(await list(join(stateDir, "runs")), "the folder of the run"),
    ...ofRun((await list(join(stateDir, "marks"))).map(runOfMark), "marks of the run"),
    ...ofRun(await findLaunchers(join(stateDir, "marks")), "the launcher of the run"),
    ...(await Promise.all(cgroups.map((folder) => ofApp(folder, "the cgroup")))).flat(),
    ...ofRun((await Promise.all(cgroups.map(listLeaves))).flat(), "the cgroup of the run"),
  ];
}

async function knownRuns(appsFolder: string): Promise<Set<string>> {
  const records = await readRecords(appsFolder).catch(() => []);
  return new Set(records.flatMap(runsOf).map(({ id }) => id));
}

async function findLaunchers(marksFolder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.flatMap((line) => {
    const mark = line.split("\0").find((word) => word.startsWith(`${marksFolder}/`));
    return mark === undefined ? [] : [mark.slice(marksFolder.length + 1)];
  });
}

/** Returns the cgroups of the agent with this state folder, wherever the hierarchy is mounted. */
export async function findCgroups(stateDir: string): Promise<string[]> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  return mounts.split("\n").map((line) => line.split(" ")).filter(([, , type]) => type === "cgroup2")
    .map(([, path = ""]) => join(path, "nckubelet", instanceName(stateDir)));
}

/** Returns the cgroups of runs, two levels below an agent's own. */
async function listLeaves(folder: string): Promise<string[]> {
  const apps = (await list(folder)).filter((name) => name.startsWith("default_"));
  const below = await Promise.all(apps.map((app) => list(join(folder, app))));
  return below.flat().filter((name) => /^[a-z0-9]+-[0-9a-f]{10}$/.test(name));
}

function appOf(folder: string): string {
  return folder.slice(folder.indexOf("_") + 1);
}

function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
