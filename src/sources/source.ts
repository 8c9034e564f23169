/**
 * Where desired apps come from. Every source implements this interface; the sync layer merges them.
 *
 * The rule of every source: only certainty removes an app. `replace` is a complete, valid list, `remove` an observed removal;
 * everything else is reported as a problem and removes nothing.
 */
import type { Desired } from "../api/app-shapes.ts";
import { joinMessages } from "../api/field-error.ts";
import type { NCApp } from "../api/types.ts";

/** The names of the sources, as records and messages have them. */
export const sourceNames = {
  apiServer: "api-server",
  manifests: "manifests",
  url: "manifest-url",
  socket: "socket",
} as const;

/** Something that the user should know about a source; names the place and the field if possible. */
export interface SourceProblem {
  message: string;
  field?: string;
  origin?: string;
  /** The app whose manifest is broken; empty if the manifest does not tell. Absent: the problem is another. */
  app?: string;
  /** The Secret or ConfigMap that is broken or refused: `Secret namespace/name`, or only its kind if it has no name. */
  holder?: string;
  /** The app that runs as another manifest has it, which comes first. */
  ignored?: string;
}

/** Joins problems into what is wrong with one app; undefined for none. */
export function joinProblems(problems: SourceProblem[]): string | undefined {
  return joinMessages(problems) || undefined;
}

export interface SourceSink {
  /** A complete list: apps that are not in it are gone. */
  replace(apps: Desired<NCApp>[]): void;
  upsert(app: Desired<NCApp>): void;
  /** An observed removal. */
  remove(key: string, uid: string): void;
  /** All current problems; an empty list means none. Removes nothing. */
  reportProblems(problems: SourceProblem[]): void;
}

export interface SourceHealth {
  ready: boolean;
  message: string;
  since: Date;
}

/** Keeps the health of a source; `since` is the time of its last change. */
export function createHealth(message: string) {
  let health: SourceHealth = { ready: false, message, since: new Date() };
  return {
    get: () => health,
    set(ready: boolean, message: string) {
      if (health.ready !== ready || health.message !== message) {
        health = { ready, message, since: new Date() };
      }
    },
  };
}

export interface Source {
  readonly name: string;
  /** Follows the source until the signal aborts; never throws for problems of the source itself. */
  run(sink: SourceSink, signal: AbortSignal): Promise<void>;
  health(): SourceHealth;
}

/** An app as the agent's own records have it. */
export type LastKnown = Pick<Desired<NCApp>, "app" | "origin">;
