/** How much of an app's log is kept: the app's annotations override the agent's setting. Pure. */
import { quote } from "../../api/field-error.ts";
import { annotations } from "../../api/names.ts";
import type { RotationPolicy } from "./rotation.ts";
import type { RunnableApp } from "../types.ts";

const units: Record<string, number> = {
  "": 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Returns the policy of an app. An invalid annotation is ignored, and `problem` says why. */
export function logPolicyOf(
  app: RunnableApp,
  standard: RotationPolicy,
): { policy: RotationPolicy; problem?: string } {
  const given = app.metadata.annotations ?? {};
  const [size, files] = [given[annotations.logMaxSize], given[annotations.logMaxFiles]];
  try {
    const maxBytes = size === undefined ? standard.maxBytes : parseBytes(size);
    const maxFiles = files === undefined ? standard.maxFiles : parseCount(files);
    return { policy: { maxBytes, maxFiles } };
  } catch (error) {
    return { policy: standard, problem: (error as Error).message };
  }
}

/** Parses a size such as `10Mi` or `500K`, at least 64 KiB. */
export function parseBytes(text: string): number {
  const match = /^(\d{1,12})(|K|M|G|Ki|Mi|Gi)$/.exec(text);
  const bytes = Number(match?.[1]) * (units[match?.[2] ?? ""] ?? NaN);
  if (!(bytes >= 65_536 && Number.isSafeInteger(bytes))) {
    throw new Error(`${quote(text)} is not a size of 64Ki or more, such as 10Mi`);
  }
  return bytes;
}

export function parseCount(text: string): number {
  if (!/^([1-9]\d{0,2}|1000)$/.test(text)) {
    throw new Error(`${quote(text)} is not a number of files from 1 to 1000`);
  }
  return Number(text);
}
