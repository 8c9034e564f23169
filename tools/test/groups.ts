/**
 * Groups quick test files into a few modules, so that their imports are loaded once per group and not once per file: quick tests
 * spend most of their time on imports.
 */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../checkout.ts";

/** Writes modules that import these test files, each file in one of them; returns their paths from the checkout. */
export function groupFiles(name: string, files: string[], count: number): string[] {
  const folder = join("dist", "test");
  mkdirSync(join(checkout, folder), { recursive: true });
  return divide(files, count).map((group, index) => {
    const path = join(folder, `${name}-${index + 1}.mjs`);
    writeFileSync(join(checkout, path), group.map((file) => `import "../../${file}";\n`).join(""));
    return path;
  });
}

/**
 * Divides files into at most `count` groups by a hash of their path: a new file changes no group but its own, so that tests which
 * disturb each other do so in every run. Of the hashes at hand, SHA-256 divides the long files most evenly into eight groups.
 */
export function divide(files: string[], count: number): string[][] {
  const groups = Map.groupBy(
    files,
    (file) => createHash("sha256").update(file).digest().readUInt32BE() % count,
  );
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}
