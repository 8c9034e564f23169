/** What the controller keeps of an NCApp: everything of the apps of sets, and the little that it needs of the others. */
import { setKind } from "../api/names.ts";
import type { NCAppStatus } from "../api/types.ts";
import type { App } from "./types.ts";

export function slim({ status, ...app }: App): App {
  if (app.metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === setKind)) {
    return status ? { ...app, status: slimStatus(status) } : app;
  }
  const { annotations: _, ...metadata } = app.metadata;
  const { nodeName } = app.spec ?? {};
  return { ...app, metadata, spec: nodeName ? { nodeName } : {} };
}

/** Usage changes all the time, and decides nothing. */
function slimStatus(status: NCAppStatus): NCAppStatus {
  const { phase, reason, message, ready, observedGeneration, observedRestartedAt, conditions, lastExit } =
    status;
  return {
    phase,
    reason,
    message,
    ready,
    observedGeneration,
    observedRestartedAt,
    conditions: conditions?.filter(({ type }) => type === "Ready"),
    ...(lastExit ? { lastExit: { reason: lastExit.reason, message: lastExit.message } } : {}),
  };
}
