import { cpus, totalmem } from "node:os";
import process from "node:process";
import { locateRoot } from "../../../cgroups/mod.ts";
import { createCgroupConfinement } from "../../../src/supervisor/cgroup-confinement.ts";
import { supervisorContract } from "../../supervisor/contract.ts";

supervisorContract(async () => {
  const root = await locateRoot({ override: `${process.env.CGROUP_ROOT}/supervisor-test` });
  if (!root.ok) throw new Error(root.message);
  return createCgroupConfinement({ root, size: { cpus: cpus().length, memoryBytes: totalmem() } });
});
