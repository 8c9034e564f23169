/**
 * What the sets controller knows of the runs of one app of a job: an annotation of the app. It is part of the write that starts or ends
 * the app, so that none of the two happens without the other.
 */
import { hash } from "node:crypto";
import { isObject } from "../lib/objects.ts";
import { annotations, setAnnotations } from "./names.ts";

export interface RunNote {
  /** When the set saw that the app has completed: it never runs again. */
  completedAt?: string;
  /** When the set saw that the last run has failed; absent once the next one may start. */
  failedAt?: string;
  /** Failed runs since the retry, without those that `status.restarts` counts beyond `restarts`. */
  failures: number;
  /** `status.restarts` at the last start. */
  restarts: number;
  /** The retry of the job that `failures` belongs to. */
  retry: string;
}

type Annotated = { metadata: { annotations?: Record<string, string> } };

/** The token is written into every app of the job, and users may choose it. */
const maxRetryLength = 64;

/** Returns what asked for the last retry of a job: the annotation of the set or, if that is long, its digest. */
export function retryOf({ metadata }: Annotated): string {
  const text = metadata.annotations?.[setAnnotations.retry] ?? "";
  return text.length > maxRetryLength ? hash("sha256", text) : text;
}

/** Reads the note of an app. It may have been changed by hand: what makes no sense counts as absent. */
export function readRunNote({ metadata }: Annotated): RunNote {
  const note = parse(metadata.annotations?.[annotations.run]);
  return {
    ...timeOf(note, "completedAt"),
    ...timeOf(note, "failedAt"),
    failures: countOf(note.failures),
    restarts: countOf(note.restarts),
    retry: typeof note.retry === "string" ? note.retry : "",
  };
}

function parse(text = "{}"): { [field: string]: unknown } {
  try {
    const note: unknown = JSON.parse(text);
    return isObject(note) ? note : {};
  } catch {
    return {};
  }
}

function timeOf(note: { [field: string]: unknown }, field: "completedAt" | "failedAt"): Partial<RunNote> {
  const time = note[field];
  return typeof time === "string" && !Number.isNaN(Date.parse(time)) ? { [field]: time } : {};
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0;
}
