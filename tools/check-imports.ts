/**
 * Checks the imports of src/ and cgroups/: their direction, cycles, and who reads the environment. Exit code 1 with a line for
 * each thing that is wrong.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import manifest from "../package.json" with { type: "json" };
import { checkImports } from "./check/import-rules.ts";
import { checkout } from "./checkout.ts";

const files = globSync("{src,cgroups}/**/*.ts", { cwd: checkout }).sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(checkout, file), "utf8")]));
const complaints = checkImports(sources, Object.keys(manifest.dependencies));
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length > 0 ? 1 : 0;
