/** Prints what `locateRoot` finds for this process. Options as JSON in the first argument. */
import process from "node:process";
import { locateRoot } from "../../../cgroups/mod.ts";

console.log(JSON.stringify(await locateRoot(JSON.parse(process.argv[2] ?? "{}"))));
