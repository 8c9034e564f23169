import type { Invariant } from "../evidence.ts";
import { agentsReady } from "./agents-ready.ts";
import { converged } from "./converged.ts";
import { exitCodes } from "./exit-codes.ts";
import { logLines } from "./log-lines.ts";
import { noLeaks } from "./no-leaks.ts";
import { notOversold } from "./not-oversold.ts";
import { oneInstance } from "./one-instance.ts";
import { stoppedForAReason } from "./stopped-for-a-reason.ts";

/** Those that hold at any moment. */
export const always: Invariant[] = [oneInstance, notOversold];
/** Those that hold within the time that all have to come to rest. */
export const soon: Invariant[] = [converged, agentsReady, noLeaks, exitCodes];
/** Those that hold at rest. */
export const atRest: Invariant[] = [stoppedForAReason, logLines];
