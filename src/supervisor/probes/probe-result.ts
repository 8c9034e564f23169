/** What one probe found. A failed probe is a value; an exception means that the node could not perform the probe. */
import { errorCode } from "../../lib/files.ts";

export interface ProbeResult {
  ok: boolean;
  message: string;
}

const shortages = new Set(["EAGAIN", "EAI_MEMORY", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Reports whether the node lacked descriptors, memory or the like: that says nothing about the app. */
export function isNodeShortage(error: unknown): boolean {
  return shortages.has(errorCode(error));
}
