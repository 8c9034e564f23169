import type { Invariant } from "../evidence.ts";
import { agentsReady } from "./agents-ready.ts";
import { converged } from "./converged.ts";
import { exitCodes } from "./exit-codes.ts";
import { logLines } from "./log-lines.ts";
import { noLeaks } from "./no-leaks.ts";
import { notOversold } from "./not-oversold.ts";
import { oneInstance } from "./one-instance.ts";
import { setConverged } from "./set-converged.ts";
import { stoppedForAReason } from "./stopped-for-a-reason.ts";

/** Invariants that hold at any time. */
export const always: Invariant[] = [oneInstance, notOversold];
/** Invariants that hold within the settling time. */
export const soon: Invariant[] = [converged, agentsReady, noLeaks, exitCodes, setConverged];
/** Invariants that hold once the cluster has settled. */
export const atRest: Invariant[] = [stoppedForAReason, logLines];
