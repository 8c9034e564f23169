/**
 * Checks the imports of src/ and cgroups/, their direction and cycles, what tests and tools import of them, and the sizes of rooms and files. Prints a line for each
 * complaint and exits with code 1 if there are any.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import manifest from "../package.json" with { type: "json" };
import { checkImports, checkRooms, checkUses } from "./check/import-rules.ts";
import { checkout } from "./checkout.ts";
import { readImports } from "./import-graph.ts";

const files = globSync("{src,cgroups}/**/*.ts", { cwd: checkout }).sort();
const linesOf = (file: string) => readFileSync(join(checkout, file), "utf8").split("\n").length - 1;
const users = globSync("{test,tools,bench}/**/*.ts", { cwd: checkout }).sort();
const complaints = [
  ...checkImports(readImports(checkout, files), Object.keys(manifest.dependencies)),
  ...checkUses(readImports(checkout, users)),
  ...checkRooms(new Map(files.map((file) => [file, linesOf(file)]))),
];
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length > 0 ? 1 : 0;
