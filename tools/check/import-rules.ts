/**
 * The rules for what may import what, as a pure function from sources to complaints. DESIGN: imports run one way,
 * main → cli → agent → sync, server, scheduler → sources, supervisor, report, node → kube, api, cgroups → lib.
 */
import { basename, dirname, join } from "node:path/posix";
import { importsOf, readSource } from "./source-text.ts";

/** Folders from the top to the bottom; those in one row do not know each other. */
const layers = [
  ["src/main.ts"],
  ["src/cli"],
  ["src/agent"],
  ["src/sync", "src/server", "src/scheduler"],
  ["src/sources", "src/supervisor", "src/report", "src/node"],
  ["src/kube", "src/api", "cgroups"],
  ["src/lib"],
];

const entry = "src/main.ts";

/**
 * A folder below a layer is a room: other rooms reach it through its main file, which has the room's name (`logs/logs.ts`). cgroups/
 * is one room whose main file is mod.ts. These imports go past a main file, each for a reason.
 */
const pastMainFiles: Record<string, string[]> = {
  // Loaded when they are first needed; the main files of their rooms are loaded always.
  "src/agent/open-listeners.ts": ["src/server/listen/token-file.ts", "src/server/listen/token-review.ts"],
  "src/agent/with-scheduler.ts": ["src/scheduler/serve/rights.ts"],
  "src/cli/command-line.ts": ["src/cli/commands/version.ts"],
  "src/cli/commands/scheduler.ts": ["src/scheduler/follow/load-cluster.ts", "src/scheduler/place/explain.ts"],
};

/** Says what is wrong with these files (paths from the checkout, with their text): one line each, none where all is well. */
export function checkImports(sources: Map<string, string>, packages: string[]): string[] {
  const complaints: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, source] of sources) {
    const { code, names } = readSource(source);
    const targets: string[] = [];
    for (const name of importsOf(code)) {
      const target = name.startsWith(".") ? join(dirname(file), name) : undefined;
      if (target) targets.push(target);
      const complaint = target ? checkOwn(file, name, target, sources) : checkForeign(file, name, packages);
      if (complaint) complaints.push(`${file} imports ${JSON.stringify(name)}: ${complaint}`);
    }
    graph.set(file, targets);
    complaints.push(...checkNames(file, names));
  }
  return [...complaints, ...findCycles(graph)];
}

function checkOwn(
  file: string,
  name: string,
  target: string,
  sources: Map<string, string>,
): string | undefined {
  if (!/\.(?:ts|json)$/.test(name)) return "write the .ts ending";
  if (target.endsWith(".json")) return undefined;
  if (!sources.has(target)) return "there is no such file in src/ or cgroups/";
  const hidden = mainFileOf(target);
  if (hidden !== undefined && !reaches(file, target, hidden)) {
    return `it belongs to another room; use what ${hidden} exports`;
  }
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from.folder === to.folder) return undefined;
  if (from.folder === "cgroups") return "cgroups/ stands on its own";
  if (from.rank === to.rank) {
    return `${from.folder} and ${to.folder} are of one layer; let the wiring pass one to the other`;
  }
  if (from.rank > to.rank) return `${to.folder} is above ${from.folder}`;
  return undefined;
}

/** The main file of the room that a file is in; undefined for one in no room. */
function mainFileOf(file: string): string | undefined {
  if (file.startsWith("cgroups/")) return "cgroups/mod.ts";
  const room = dirname(file);
  return room.split("/").length > 2 ? `${room}/${basename(room)}.ts` : undefined;
}

function reaches(file: string, target: string, main: string): boolean {
  const room = dirname(main);
  if (file.startsWith(`${room}/`) || target === main) return true;
  return pastMainFiles[file]?.includes(target) ?? false;
}

function checkForeign(file: string, name: string, packages: string[]): string | undefined {
  if (name.startsWith("node:")) return undefined;
  if (file.startsWith("cgroups/")) return "cgroups/ uses modules of Node only";
  const found = packages.find((one) => name === one || name.startsWith(`${one}/`));
  return found ? undefined : "it is not among the dependencies in package.json";
}

function checkNames(file: string, names: string): string[] {
  const complaints: string[] = [];
  if (/\bDeno\s*\./.test(names)) complaints.push(`${file} uses Deno: only what Node has too`);
  if (file === entry) return complaints;
  for (const [, what] of names.matchAll(/\bprocess\s*\.\s*(env|argv|on|once|addListener)\b/g)) {
    complaints.push(`${file} uses process.${what}: only ${entry} reads arguments, environment and signals`);
  }
  return complaints;
}

function layerOf(file: string): { folder: string; rank: number } {
  const rank = layers.findIndex((row) => row.some((folder) => isIn(file, folder)));
  const folder = layers[rank]?.find((folder) => isIn(file, folder));
  if (folder === undefined) throw new Error(`${file} is in none of the layers ${layers.flat().join(", ")}`);
  return { folder, rank };
}

function isIn(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder}/`);
}

/** Each cycle once, told from the file at which it was found. */
function findCycles(graph: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) {
      found.push(`import cycle: ${[...path.slice(start), file].join(" → ")}`);
      return;
    }
    if (done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}
