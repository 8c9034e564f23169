/**
 * Where desired apps come from. Each source stands behind this one interface; the sync layer unites them.
 *
 * The rule that every source keeps: only what is certain removes an app. `replace` is a complete, valid, successful list,
 * `remove` a removal that was seen; anything else is `trouble` and removes nothing.
 */
import type { NCApp } from "../api/types.ts";

/** The names of the sources, as records and messages have them. */
export const sourceNames = {
  apiServer: "api-server",
  manifests: "manifests",
  url: "manifest-url",
  socket: "socket",
} as const;

/** An app that a source wants, with where exactly it was found. */
export interface DesiredApp {
  app: NCApp;
  source: string;
  /** File or URL, for messages. */
  origin?: string;
  /**
   * The app is wanted, but its spec is not valid here and must not be acted on: what runs goes on under its last good
   * spec, what does not run yet is not started. Absent: the spec is valid.
   */
  problems?: SourceProblem[];
}

/** Something that a person should know about a source; names the place and the field where it can. */
export interface SourceProblem {
  message: string;
  field?: string;
  origin?: string;
}

export interface SourceSink {
  /** A complete list: what is missing in it is gone. */
  replace(apps: DesiredApp[]): void;
  upsert(app: DesiredApp): void;
  /** A removal that was seen to happen. */
  remove(key: string, uid: string): void;
  /** All problems that there are now; an empty list means none. Removes nothing. */
  trouble(problems: SourceProblem[]): void;
}

export interface SourceHealth {
  ready: boolean;
  message: string;
  since: Date;
}

export interface Source {
  readonly name: string;
  /** Follows the source until the signal aborts; never throws for trouble of the source itself. */
  run(sink: SourceSink, signal: AbortSignal): Promise<void>;
  health(): SourceHealth;
}

/** An app as the agent last knew it, from its own records. */
export interface LastKnown {
  app: NCApp;
  origin?: string;
}
