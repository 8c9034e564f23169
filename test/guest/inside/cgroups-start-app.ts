/**
 * Acts as an agent that starts an app and ends: locates the root, creates the app `default_web` with limits and starts one process in
 * it. Prints the root.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { ensureLimits, isPopulated, limitsFor, locateRoot, openCgroup } from "../../../cgroups/mod.ts";
import { joinCommand } from "./cgroups-app.ts";

const found = await locateRoot();
if (!found.ok) throw new Error(found.message);
const dir = openCgroup(found.root, "default_web");
await ensureLimits(
  dir,
  limitsFor({ cpuPCT: 20, memPCT: 10, pidsMax: 50 }, { cpus: 1, memoryBytes: 1000 * 2 ** 20 }),
);
const leaf = openCgroup(dir, "run1");
const app = spawn("sh", ["-c", `${joinCommand(leaf)} || exit 125; exec sleep 100000`], {
  detached: true,
  stdio: "ignore",
});
await once(app, "spawn");
app.unref();
while (!isPopulated(leaf)) await new Promise((resolve) => setTimeout(resolve, 20));
console.log(found.root);
