/** What `followList` takes and tells. */
import { type Backoff, createBackoff } from "../../lib/backoff.ts";
import { steadyNow } from "../../lib/time.ts";
import { createFieldSelector } from "./field-selector.ts";
import type { KubeError } from "../kube-error.ts";
import type { KubeResource } from "../resources.ts";
import type { Identified, KubeObject } from "../wire.ts";

export type WatchEvent<T extends KubeObject> =
  | { type: "listed"; items: Identified<T>[]; resourceVersion: string }
  | { type: "applied"; object: Identified<T> }
  | { type: "deleted"; object: Identified<T> }
  /** The watch works: it was accepted, or a bookmark came. */
  | { type: "alive" }
  | { type: "trouble"; during: "list" | "watch"; error: KubeError; retryInMs: number };

/** Why a watch connection was replaced, for metrics. */
export type RestartReason = "ended" | "silent" | "lost" | "expired" | "relist";

export interface FollowOptions<T> {
  resource: KubeResource;
  /** Only one namespace instead of all. */
  namespace?: string;
  labelSelector?: string;
  /** A hint to the server, which may be unable to filter by it; `keep` must say the same. */
  fieldSelector?: string;
  keep?: (object: T) => boolean;
  pageSize?: number;
  relistMs?: number;
  /** When to try again a relist that failed while the watch works. */
  relistRetryMs?: number;
  silenceMs?: number;
  /** When to try a refused field selector again. */
  selectorRetryMs?: number;
  /** A watch that the server ended sooner, without a line, was no success. */
  shortWatchMs?: number;
  backoff?: Backoff;
  /**
   * Calls back when the server has answered somebody else, unless what it returns is called before. Who waits because it gave no
   * answer waits no longer then.
   */
  answered?: (callback: () => void) => () => void;
  onRestart?: (reason: RestartReason) => void;
  now?: () => number;
  random?: () => number;
}

/** Fills in what was left out. */
export function withDefaults<T>(options: FollowOptions<T>) {
  const { now = steadyNow, random = Math.random, selectorRetryMs = 3_600_000 } = options;
  return {
    ...options,
    keep: options.keep ?? (() => true),
    relistMs: options.relistMs ?? 300_000,
    relistRetryMs: options.relistRetryMs ?? 30_000,
    silenceMs: options.silenceMs ?? 90_000,
    shortWatchMs: options.shortWatchMs ?? 1_000,
    selector: createFieldSelector(options.fieldSelector, { retryMs: selectorRetryMs, now }),
    backoff: options.backoff ?? createBackoff({ initialMs: 800, maxMs: 30_000, jitter: 0.5, random }),
    onRestart: options.onRestart ?? (() => {}),
    now,
    random,
  };
}

/** The options with every default filled in. */
export type FollowSettings<T> = ReturnType<typeof withDefaults<T>>;
