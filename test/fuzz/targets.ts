/** Every parser that reads untrusted bytes. */
import type { Target } from "./engine.ts";
import { apiTargets } from "./targets/api.ts";
import { cliTargets } from "./targets/cli.ts";
import { httpTargets } from "./targets/http.ts";
import { kernelTargets } from "./targets/kernel.ts";
import { kubeTargets } from "./targets/kube.ts";
import { kubeletTargets } from "./targets/kubelet.ts";
import { launcherTargets } from "./targets/launcher.ts";
import { schedulerTargets } from "./targets/scheduler.ts";
import { serverTargets } from "./targets/server.ts";
import { supervisorTargets } from "./targets/supervisor.ts";

export const targets: readonly Target[] = [
  ...apiTargets,
  ...kubeTargets,
  ...kernelTargets,
  ...supervisorTargets,
  ...launcherTargets,
  ...httpTargets,
  ...serverTargets,
  ...kubeletTargets,
  ...schedulerTargets,
  ...cliTargets,
];

/** Returns the target of that name. */
export function targetNamed(name: string): Target {
  const found = targets.find((target) => target.name === name);
  if (found) return found;
  throw new Error(
    `no target is called ${JSON.stringify(name)}; there are ${targets.map(({ name }) => name).join(", ")}`,
  );
}
