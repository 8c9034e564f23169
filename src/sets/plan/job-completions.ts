/**
 * Which apps a job is to complete, which of them have, and which do not exist yet.
 *
 * What has completed is in the status of the set as well as in the apps: an app may be deleted, and its node may go and come back.
 */
import { acceptsNew, choosesNode, untoleratedTaint } from "../../api/placement/placement.ts";
import { maxReplicas } from "../../api/schema/schema.ts";
import type { Node, Revision, World } from "../types.ts";
import type { JobRun } from "./job-runs.ts";
import { appName, isPinned } from "./names.ts";
import { maxChanges } from "./slots.ts";

export interface Completions {
  desired: number;
  /** Names of apps. */
  completed: ReadonlySet<string>;
  /** The same for the status. */
  completedIndexes: string;
  /** Apps that can be created now, as many as one plan creates. */
  missing: { name: string; node?: Node }[];
  /** Names that other apps have. */
  collisions: string[];
  /** Nodes that cannot take their app now, and why. */
  waiting: string[];
  /** Reports whether the app with this name is one of those that are to complete. */
  isSlot(name: string): boolean;
}

export function findCompletions(world: World, runs: readonly JobRun[], update: Revision): Completions {
  return isPinned(world.set.spec) ? onePerNode(world, runs, update) : numbered(world, runs);
}

function numbered({ set, appNamed }: World, runs: readonly JobRun[]): Completions {
  // No server accepts more, but an older schema might have.
  const desired = Math.min(set.spec.job?.completions ?? 0, maxReplicas);
  const names = Array.from({ length: desired }, (_, ordinal) => appName(set.metadata.name, ordinal));
  const slots = new Set(names);
  const completed = new Set<string>();
  for (const ordinal of readRanges(set.status?.completedIndexes, desired)) completed.add(names[ordinal]!);
  for (const { app: { metadata: { name } }, state } of runs) {
    if (state === "completed" && slots.has(name)) completed.add(name);
  }
  const taken = new Set(runs.map(({ app }) => app.metadata.name));
  const missing: Completions["missing"] = [];
  const collisions: string[] = [];
  for (const name of names) {
    if (missing.length >= maxChanges) break;
    if (taken.has(name) || completed.has(name)) continue;
    if (appNamed(name)) collisions.push(name);
    else missing.push({ name });
  }
  const completedIndexes = formatRanges(names.flatMap((name, ordinal) => completed.has(name) ? ordinal : []));
  const isSlot = (name: string) => slots.has(name);
  return { desired, completed, completedIndexes, missing, collisions, waiting: [], isSlot };
}

/** One app on each node that the template chooses and that has an agent. Nodes that are lost or cordoned count: the job waits for them. */
function onePerNode({ set, nodes, appNamed }: World, runs: readonly JobRun[], update: Revision): Completions {
  const { spec } = update.data!;
  const { name: setName } = set.metadata;
  const done = new Set((set.status?.completedIndexes ?? "").split(",").filter(Boolean));
  for (const { app, node, state } of runs) {
    const name = node?.name ?? app.spec.nodeName;
    if (state === "completed" && name && appName(setName, name) === app.metadata.name) done.add(name);
  }
  const completed = new Set([...done].map((node) => appName(setName, node)));
  const known = new Map(runs.map((run) => [run.app.metadata.name, run]));
  const slots = new Set(completed);
  const missing: Completions["missing"] = [];
  const [collisions, waiting]: [string[], string[]] = [[], []];
  for (const node of nodes.values()) {
    const { properties, agent } = node;
    const name = appName(setName, node.name);
    const run = known.get(name);
    const isChosen = agent !== "none" && choosesNode(spec, node.name, properties) &&
      untoleratedTaint(spec.tolerations ?? [], properties.taints) === undefined;
    if (completed.has(name) || !isChosen && run?.state !== "active") continue;
    slots.add(name);
    if (run) continue;
    if (appNamed(name)) collisions.push(name);
    else if (agent !== "fresh") waiting.push(`${node.name} is lost`);
    else if (!acceptsNew(spec, properties)) {
      waiting.push(`${node.name} is ${properties.cordoned ? "cordoned" : "not ready or under pressure"}`);
    } else if (missing.length < maxChanges) missing.push({ name, node });
  }
  return {
    desired: slots.size,
    completed,
    completedIndexes: [...done].sort().join(),
    missing,
    collisions,
    waiting,
    isSlot: (name) => slots.has(name),
  };
}

/** Reads `0-3,7`, as far as the numbers are below the limit. */
function* readRanges(text = "", limit: number): Iterable<number> {
  for (const range of text.split(",")) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
    for (let at = Number(first); at <= Number(last) && at < limit; at++) yield at;
  }
}

/** Writes ascending numbers as `0-3,7`. */
function formatRanges(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range && range[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join();
}
