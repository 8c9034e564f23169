/** What the controller keeps of an NCApp: everything of the apps of sets, and the little that it needs of the others. */
import { annotations, setKind } from "../api/names.ts";
import type { NCAppStatus } from "../api/types.ts";
import { pick } from "../lib/objects.ts";
import type { App } from "./types.ts";

export function slim({ status, ...app }: App): App {
  if (app.metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === setKind)) {
    return status ? { ...app, status: slimStatus(status) } : app;
  }
  const { annotations: { [annotations.mirror]: mark } = {}, ...metadata } = app.metadata;
  const marked = mark === undefined ? metadata : { ...metadata, annotations: { [annotations.mirror]: mark } };
  const { nodeName } = app.spec ?? {};
  return { ...app, metadata: marked, spec: nodeName ? { nodeName } : {} };
}

/** Usage changes all the time, and decides nothing. */
const statusFields = [
  "phase",
  "reason",
  "message",
  "ready",
  "observedGeneration",
  "observedRestartedAt",
  "restarts",
  "nodeName",
] as const;

function slimStatus(status: NCAppStatus): NCAppStatus {
  const { conditions, lastExit } = status;
  return {
    ...pick(status, statusFields),
    ...(conditions && { conditions: conditions.filter(({ type }) => type === "Ready") }),
    ...(lastExit && { lastExit: pick(lastExit, ["reason", "message"]) }),
  };
}
