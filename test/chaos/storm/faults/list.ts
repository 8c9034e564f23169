import type { Fault } from "../fault.ts";
import { crdChurn, objectChurn, recreation, specChurn } from "./churn.ts";
import { clockJump } from "./clock-jump.ts";
import { corruptState } from "./corrupt-state.ts";
import { freezes } from "./freeze.ts";
import { fullAtStart, fullDisks } from "./full-disk.ts";
import { hungMount } from "./hung-mount.ts";
import { kills } from "./kill.ts";
import { killApp } from "./kill-app.ts";
import { launcherKills } from "./kill-launcher.ts";
import { nodeRenamed } from "./node-renamed.ts";
import { portTaken } from "./port-taken.ts";
import { rollSet } from "./roll-set.ts";
import { shutdown } from "./shutdown.ts";
import { closedWay, cutConnections, halfOpen, tooManyRequests } from "./network.ts";

/** Every fault. A seed depends on their order. */
export const faults: Fault[] = [
  ...kills,
  ...freezes,
  cutConnections,
  closedWay,
  halfOpen,
  tooManyRequests,
  ...fullDisks,
  clockJump,
  corruptState,
  killApp,
  objectChurn,
  recreation,
  specChurn,
  crdChurn,
  hungMount,
  fullAtStart,
  portTaken,
  nodeRenamed,
  shutdown,
  ...launcherKills,
  rollSet,
];
