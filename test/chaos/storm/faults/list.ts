import type { Fault } from "../fault.ts";
import { crdChurn, objectChurn, recreation, specChurn } from "./churn.ts";
import { clockJump } from "./clock-jump.ts";
import { corruptState } from "./corrupt-state.ts";
import { freezes } from "./freeze.ts";
import { fullDisks } from "./full-disk.ts";
import { kills } from "./kill.ts";
import { killApp } from "./kill-app.ts";
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
];
