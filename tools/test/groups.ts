/**
 * Puts quick test files together into a few modules, so that what they import is loaded a few times and not once for each file:
 * most of the time of a quick test is its imports.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../checkout.ts";

/** Modules that import these test files, as paths from the checkout; every file is in one of them. */
export function groupFiles(name: string, files: string[], count: number): string[] {
  const folder = join("dist", "test");
  mkdirSync(join(checkout, folder), { recursive: true });
  return dealOut(files, count).map((group, index) => {
    const path = join(folder, `${name}-${index + 1}.mjs`);
    writeFileSync(join(checkout, path), group.map((file) => `import "../../${file}";\n`).join(""));
    return path;
  });
}

/** Deals files to at most `count` groups in turn: neighbours take about as long, so that the groups do too. */
export function dealOut(files: string[], count: number): string[][] {
  const groups: string[][] = [];
  files.forEach((file, index) => (groups[index % count] ??= []).push(file));
  return groups;
}
