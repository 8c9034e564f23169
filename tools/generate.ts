/**
 * Writes crd/, docs/reference.md, docs/rights.md, the rooms in docs/architecture.md and the dashboard's assets from the source: `npm run generate`.
 * With `--check` it writes nothing, shows what would change, and fails if anything would.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installFiles, renderInstallFile } from "../src/api/install/install.ts";
import { makeRoomMap } from "./room-map.ts";

const folder = fileURLToPath(new URL("../crd", import.meta.url));

if (import.meta.main) {
  const check = process.argv.includes("--check");
  // Loaded lazily: importers of this file do not need it, and the bundler does not load everywhere.
  const [{ makeDashboard }, { makeReference }, { makeRights }] = await Promise.all([
    import("./dashboard.ts"),
    import("./reference.ts"),
    import("./rights.ts"),
  ]);
  process.exitCode = Math.max(
    await generate({ check }),
    await makeReference({ check }),
    await makeRights({ check }),
    makeRoomMap({ check }),
    await makeDashboard({ check }),
  );
}

/** Updates the folder crd/, or, with `check`, reports how it is outdated. Returns the exit code. */
export async function generate(
  { check, dir = folder, say = console.log }: { check: boolean; dir?: string; say?: (line: string) => void },
): Promise<number> {
  const wanted = new Map(installFiles().map((file) => [file.path, renderInstallFile(file)]));
  let stale = 0;
  for (const [path, text] of wanted) {
    const found = await readFile(join(dir, path), "utf8").catch(() => undefined);
    if (found === text) continue;
    stale++;
    if (check) say(`crd/${path} is not up to date:\n${firstDifference(found, text)}`);
    else await write(join(dir, path), text);
  }
  for (const path of await yamlFiles(dir)) {
    if (wanted.has(path)) continue;
    stale++;
    if (check) say(`crd/${path} is not made by the generator`);
    else await rm(join(dir, path));
  }
  if (!check) say(stale === 0 ? "crd/ was up to date" : `crd/: ${stale} files changed`);
  if (check && stale > 0) say("run: npm run generate");
  return check && stale > 0 ? 1 : 0;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function yamlFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".yaml"))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)));
}

// The first different line with its neighbors is enough to see what is outdated.
function firstDifference(found: string | undefined, wanted: string): string {
  if (found === undefined) return "  (missing)";
  const old = found.split("\n");
  const now = wanted.split("\n");
  const at = now.findIndex((line, i) => line !== old[i]);
  const line = at < 0 ? now.length : at;
  return [
    `@@ line ${line + 1} @@`,
    ...now.slice(Math.max(0, line - 2), line).map((text) => `  ${text}`),
    ...old.slice(line, line + 3).map((text) => `- ${text}`),
    ...now.slice(line, line + 3).map((text) => `+ ${text}`),
  ].join("\n");
}
