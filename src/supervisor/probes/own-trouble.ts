/** Tells trouble of the node, which says nothing about an app, from an app that does not answer. */
import { errorCode } from "../../lib/files.ts";

const shortages = new Set(["EAGAIN", "EAI_MEMORY", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Whether a connection could not be tried for want of descriptors, memory or the like. */
export function isOwnTrouble(error: unknown): boolean {
  return shortages.has(errorCode(error));
}
