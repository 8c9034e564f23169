/** Follows the Pods of this node: one list, then a watch. */
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { pods } from "../../kube/resources.ts";
import { followList, type FollowOptions, type WatchEvent } from "../../kube/watch/watch.ts";
import type { Identified } from "../../kube/wire.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import type { Pod } from "./pod-object.ts";
import { slimPod } from "./pod-plan.ts";

export interface FollowPodsOptions {
  client: KubeClient;
  node: string;
  /** The only namespace of this agent; undefined: all. */
  namespace?: string;
  log: Logger;
  answered?: FollowOptions<Pod>["answered"];
  onListed(list: Extract<WatchEvent<Pod>, { type: "listed" }>): void;
  onApplied(pod: Identified<Pod>): void;
  onDeleted(pod: Identified<Pod>): void;
  signal: AbortSignal;
}

/** A page is decoded at once, and a Pod is 3 KB of JSON or more. */
const pageSize = 50;
/** After this time an agent that may not read Pods tries again. */
const deniedMs = 300_000;

/** Resolves when the signal aborts. Never throws. */
export async function followPods(options: FollowPodsOptions): Promise<void> {
  const { client, node, namespace, log, answered, signal } = options;
  let isDenied = false;
  while (!signal.aborted) {
    const ending = new AbortController();
    const events = followList<Pod>(client, {
      resource: pods,
      namespace,
      fieldSelector: `spec.nodeName=${node}`,
      filter: ({ spec }) => spec?.nodeName === node,
      slim: slimPod,
      pageSize,
      streaming: true,
      answered,
    }, AbortSignal.any([signal, ending.signal]));
    for await (const event of events) {
      if (event.type === "listed") {
        isDenied = false;
        options.onListed(event);
      } else if (event.type === "applied") options.onApplied(event.object);
      else if (event.type === "deleted") options.onDeleted(event.object);
      else if (event.type === "problem") {
        log.debug("cannot follow the Pods of this node; trying again", { error: event.error });
        if (hasStatus(event.error, 403)) ending.abort();
      }
    }
    if (signal.aborted) return;
    if (!isDenied) {
      log.info("this agent may not read Pods: it shows none, and does not reject those of others", {
        hint: "bind the role nckubelet-pods to agents (docs/security.md)",
      });
    }
    isDenied = true;
    await sleep(deniedMs, signal);
  }
}
