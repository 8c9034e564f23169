/** What the controller keeps of an NCApp: everything of the apps of sets, and the little that it needs of the others. */
import { setKind } from "../api/names.ts";
import type { NCAppStatus } from "../api/types.ts";
import type { App } from "./types.ts";

/** Removes the rest, in place, and returns true to keep the app: a list holds all objects until it is complete. */
export function slim(app: App): true {
  const { metadata, status } = app;
  if (!metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === setKind)) {
    const { nodeName } = app.spec ?? {};
    delete metadata.annotations;
    app.spec = nodeName ? { nodeName } : {};
    delete app.status;
  } else if (status) app.status = slimStatus(status);
  return true;
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
