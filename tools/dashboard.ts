/**
 * Writes src/server/dashboard/assets.ts from the page's own files: `node tools/dashboard.ts`. With `--check` it writes nothing and
 * fails if it would.
 *
 * The executable has no files beside it, so it contains the page as text; assets.ts is committed, since the source must run
 * without a build.
 */
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../src/server/dashboard", import.meta.url));
const target = join(folder, "assets.ts");

if (import.meta.main) process.exitCode = await makeDashboard({ check: process.argv.includes("--check") });

/** Updates the file, or, with `check`, reports that it is outdated. Returns the exit code. */
export async function makeDashboard({ check }: { check: boolean }): Promise<number> {
  const wanted = await renderAssets();
  const isCurrent = await readFile(target, "utf8").catch(() => "") === wanted;
  if (check) {
    if (!isCurrent) {
      console.log("src/server/dashboard/assets.ts is not up to date; run: npm run generate");
    }
    return isCurrent ? 0 : 1;
  }
  if (!isCurrent) await writeFile(target, wanted);
  console.log(`src/server/dashboard/assets.ts ${isCurrent ? "was up to date" : "was written"}`);
  return 0;
}

/** Returns the text of assets.ts for the page's files. */
export async function renderAssets(): Promise<string> {
  const page = (await readFile(join(folder, "page.html"), "utf8")).replaceAll(/\n\s+/g, "\n");
  const [style, script] = await Promise.all([bundle("page.css"), bundle("browser/main.ts")]);
  return [
    "/** The dashboard as it is served. Made by tools/dashboard.ts from the files beside this one; do not edit. */",
    `export const page =\n  ${quote(page)};`,
    `export const style =\n  ${quote(style)};`,
    `export const script =\n  ${quote(script)};`,
    "",
  ].join("\n");
}

async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, file)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
  });
  return outputFiles[0]!.text.trim();
}

/** Returns the text as a literal, with the quotes that the formatter would choose. */
function quote(text: string): string {
  const double = JSON.stringify(text);
  const count = (mark: string) => text.split(mark).length;
  if (count('"') <= count("'")) return double;
  return `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
