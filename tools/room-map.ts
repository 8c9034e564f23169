/**
 * Writes the map of the rooms in docs/architecture.md from the headers of their main files: the first sentence of each.
 * `npm run generate` calls it; with `check` it writes nothing and fails if it would.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const page = `${checkout}docs/architecture.md`;

/** Layers whose main file has another name, and files beside rooms that newcomers look for. */
const others = [
  "agent/choose-confinement.ts",
  "agent/open-listeners.ts",
  "api/reasons.ts",
  "cli/command-line.ts",
  "cli/read-commands.ts",
  "kube/follower.ts",
  "node/node-agent.ts",
  "report/keyed-writer.ts",
  "scheduler/loop.ts",
  "scheduler/scores.ts",
  "server/app.ts",
  "sources/source.ts",
  "supervisor/process-table.ts",
  "supervisor/status.ts",
];

export function makeRoomMap({ check }: { check: boolean }): number {
  const text = readFileSync(page, "utf8");
  const wanted = text.replace(/(<!-- rooms: .*-->\n)[^]*?(<!-- end of rooms -->)/, `$1\n${roomMap()}\n\n$2`);
  if (!check && text !== wanted) writeFileSync(page, wanted);
  const isStale = check && text !== wanted;
  if (isStale) console.log("docs/architecture.md does not have the rooms' headers; run: npm run generate");
  return isStale ? 1 : 0;
}

function roomMap(): string {
  const mainFiles = globSync(["*/*.ts", "*/*/*.ts"], { cwd: `${checkout}src` })
    .filter((path) => /([\w-]+)\/\1\.ts$/.test(path));
  return [...mainFiles, ...others].sort().map((path) => `- \`${path}\`: ${storyOf(path)}`).join("\n");
}

function storyOf(path: string): string {
  const header = /^\/\*\*([^]*?)\*\//.exec(readFileSync(`${checkout}src/${path}`, "utf8"))?.[1];
  if (!header) throw new Error(`src/${path} has no header`);
  return header.replaceAll(/^ *\* ?/gm, "").replaceAll(/\s+/g, " ").trim().split(
    /(?<=\.) (?=[A-Z`-]|[\w./-]+\.ts\b)/,
  )[0]!;
}
