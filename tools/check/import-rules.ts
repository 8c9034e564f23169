/**
 * Checks which file may import which, and how large rooms are; pure functions that return complaints. Imports run one way:
 * main → cli → agent → controller → sync, server, scheduler, sets, identities → sources, supervisor, report, node → kube, api, cgroups → lib. lint-plugin.ts
 * checks what a file uses of Node and Deno.
 */
import { basename, dirname, join } from "node:path/posix";

/** Folders from the top to the bottom; folders in one row do not import each other. */
const layers = [
  ["src/main.ts"],
  ["src/cli"],
  ["src/agent"],
  ["src/controller"],
  ["src/sync", "src/server", "src/scheduler", "src/sets", "src/identities"],
  ["src/sources", "src/supervisor", "src/report", "src/node"],
  ["src/kube", "src/api", "cgroups"],
  ["src/lib"],
];

/**
 * A folder below a layer is a room: other rooms reach it through its main file, which has the room's name (`logs/logs.ts`). cgroups/
 * is one room whose main file is mod.ts. These imports bypass a main file, each for a reason.
 */
const pastMainFiles: Record<string, string[]> = {
  // Loaded lazily, on first use; the main files of their rooms are always loaded.
  "src/agent/open-listeners.ts": ["src/server/listen/token-file.ts", "src/server/listen/token-review.ts"],
  "src/agent/kubelet/own-certificate.ts": ["src/server/listen/self-signed.ts"],
  "src/agent/kubelet/open-kubelet.ts": [
    "src/server/listen/client-authority.ts",
    "src/server/listen/token-review.ts",
  ],
  "src/controller/open-listeners.ts": [
    "src/server/listen/self-signed.ts",
    "src/server/listen/token-review.ts",
  ],
  "src/cli/command-line.ts": ["src/cli/commands/version.ts"],
  "src/cli/commands/controller.ts": [
    "src/scheduler/follow/load-cluster.ts",
    "src/scheduler/place/explain.ts",
  ],
};

/** Folders that may have more than `maxFiles` files. */
const largeRooms: string[] = [];

/** Files that may have fewer than `minLines` lines. */
const smallFiles = ["src/lib/version.ts", "src/server/dashboard/assets.ts"];

const maxFiles = 16;
const minLines = 8;

/** Reports rooms with too many files and files with too few lines; `lines` has the number of lines of each file. */
export function checkRooms(lines: Map<string, number>): string[] {
  const files = [...lines.keys()];
  const rooms = Map.groupBy(files, (file) => dirname(file));
  return [
    ...[...rooms].filter(([room, { length }]) => length > maxFiles && !largeRooms.includes(room))
      .map(([room, { length }]) => `rooms: ${room} has ${length} files, more than ${maxFiles}: divide it`),
    ...files.filter((file) => lines.get(file)! < minLines && !smallFiles.includes(file))
      .map((file) =>
        `rooms: ${file} has ${
          lines.get(file)
        } lines, fewer than ${minLines}: move them to the file that uses them`
      ),
  ];
}

/**
 * Reports tests, tools and benchmarks that reach inside a room, so that a room can be changed without them. Only the tests of the room
 * itself do, in the folder of test/ that mirrors it, and fuzz targets, which feed its parsers.
 */
export function checkUses(imports: Map<string, string[]>): string[] {
  return [...imports].flatMap(([file, names]) =>
    names.filter((name) => name.startsWith(".")).flatMap((name) => {
      const target = join(dirname(file), name);
      const main = /^(?:src|cgroups)\//.test(target) ? mainFileOf(target) : undefined;
      if (main === undefined || target === main || file.startsWith("test/fuzz/")) return [];
      if (file.startsWith(`test/${ownTests(target)}/`)) return [];
      return [`${file} imports ${JSON.stringify(name)}: it belongs to a room; use what ${main} exports`];
    })
  );
}

function ownTests(target: string): string {
  return target.startsWith("cgroups/") ? "cgroups" : target.split("/").slice(1, 3).join("/");
}

/** Reports imports that break the rules; `imports` has the imports of each file (a path relative to the checkout). */
export function checkImports(imports: Map<string, string[]>, packages: string[]): string[] {
  const complaints: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, names] of imports) {
    const targets: string[] = [];
    for (const name of names) {
      const target = name.startsWith(".") ? join(dirname(file), name) : undefined;
      if (target) targets.push(target);
      const complaint = target ? checkOwn(file, name, target, imports) : checkForeign(file, name, packages);
      if (complaint) complaints.push(`${file} imports ${JSON.stringify(name)}: ${complaint}`);
    }
    graph.set(file, targets);
  }
  return [...complaints, ...findCycles(graph)];
}

function checkOwn(
  file: string,
  name: string,
  target: string,
  imports: Map<string, string[]>,
): string | undefined {
  if (!/\.(?:ts|json)$/.test(name)) return "write the .ts ending";
  if (target.endsWith(".json")) return undefined;
  if (!imports.has(target)) return "there is no such file in src/ or cgroups/";
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

/** Returns the main file of the room that a file is in, or undefined if it is in no room. */
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
  const found = packages.find((known) => name === known || name.startsWith(`${known}/`));
  return found ? undefined : "it is not among the dependencies in package.json";
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

/** Returns each cycle once, starting at the file where it was found. */
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
