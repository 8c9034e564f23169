/** The options and the events of `followList`. */
import type { Backoff } from "../../lib/backoff.ts";
import type { KubeError } from "../kube-error.ts";
import type { Selection } from "../objects.ts";
import type { KubeResource } from "../resources.ts";
import type { Identified, KubeObject } from "../wire.ts";
import type { WatchLimits } from "./watch-stream.ts";

export type WatchEvent<T extends KubeObject> =
  /** `rewound`: the list is older than what was received before. */
  | { type: "listed"; items: Identified<T>[]; resourceVersion: string; rewound?: boolean }
  | { type: "applied"; object: Identified<T> }
  | { type: "deleted"; object: Identified<T> }
  /** The watch works: it was accepted, or a bookmark arrived. */
  | { type: "alive" }
  | { type: "problem"; during: "list" | "watch"; error: KubeError; retryInMs: number };

/** Why a watch connection was replaced, for metrics. */
export type RestartReason = "ended" | "silent" | "lost" | "expired" | "relist";

export interface FollowOptions<T> extends Selection<T> {
  resource: KubeResource;
  /** Default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  /** A hint: the server may not be able to filter by it, so `filter` must select the same objects. */
  fieldSelector?: string;
  pageSize?: number;
  /** List by a watch that starts with all objects, if the server can do that (stream-list.ts). */
  streaming?: boolean;
  /** How long the server may be silent before the end of such a list, and how long the list may take. */
  streamPatience?: WatchLimits;
  relistMs?: number;
  /** When to retry a relist that failed while the watch works. */
  relistRetryMs?: number;
  silenceMs?: number;
  /** When to try again what the server rejected: the field selector, the streaming list. */
  rejectedRetryMs?: number;
  backoff?: Backoff;
  /**
   * Calls back when the server has answered any other request; the returned function cancels that. A follower that waits because
   * it got no answer stops waiting then.
   */
  answered?: (callback: () => void) => () => void;
  onRestart?: (reason: RestartReason) => void;
  now?: () => number;
  random?: () => number;
}
