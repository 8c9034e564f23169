/** Finds the test files that a change affects, by the import graph. */
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { checkout } from "../checkout.ts";
import { readImports } from "../import-graph.ts";

/** Returns the test files that changed since the branch left main, and those that import a changed file, directly or not. */
export function changedTests(): string[] {
  const files = globSync("{bench,cgroups,src,test,tools}/**/*.ts", { cwd: checkout });
  return dependentsOf(changedFiles(), readImports(checkout, files)).filter((file) =>
    file.endsWith(".test.ts")
  );
}

/** Returns these files and all that import them, directly or not. */
export function dependentsOf(changed: string[], imports: Map<string, string[]>): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, names] of imports) {
    for (const name of names.filter((name) => name.startsWith("."))) {
      const target = join(dirname(file), name);
      importers.set(target, [...importers.get(target) ?? [], file]);
    }
  }
  const found = new Set(changed);
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer);
  return [...found].filter((file) => imports.has(file)).sort();
}

/** Returns the files that are committed on the branch, edited, or new. */
function changedFiles(): string[] {
  const git = (...words: string[]) => execFileSync("git", words, { cwd: checkout, encoding: "utf8" }).trim();
  const base = git("merge-base", "HEAD", "main");
  const lists = [git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")];
  return lists.join("\n").split("\n").filter(Boolean);
}
