/** Confines the apps of a test in cgroups below a root of their own. */
import { cpus, totalmem } from "node:os";
import process from "node:process";
import { locateRoot } from "../../../cgroups/mod.ts";
import {
  type Confinement,
  createCgroupConfinement,
  createNodeConfinement,
} from "../../../src/supervisor/confinement/confinement.ts";

export const size = { cpus: cpus().length, memoryBytes: totalmem() };
export const rootAt = (name: string) => `${process.env.CGROUP_ROOT}/${name}`;

export async function confineBelow(name: string): Promise<Confinement> {
  const root = await locateRoot({ override: rootAt(name) });
  if (!root.ok) throw new Error(root.message);
  return createNodeConfinement({ current: createCgroupConfinement({ root, size }), size });
}
