/**
 * The cluster's PriorityClasses, kept for the moment when an app has to go.
 *
 * Guarantees: an answer takes no request, for memory is short when it is wanted and the API server may be away: what was listed last
 * counts. The list is read every five minutes, and every minute where that failed or an app names a class that is not in it.
 * Caveat: an agent that has not reached the API server since it started knows only the two classes of the system.
 */
import type { KubeClient } from "../kube/client/client.ts";
import { listAll } from "../kube/watch/watch.ts";
import { priorityClasses } from "../kube/resources.ts";
import type { KubeObject } from "../kube/wire.ts";
import type { Logger } from "../lib/log.ts";
import { type PriorityClass, priorityOf, systemClasses } from "../node/priority.ts";

export interface Priorities {
  /** The priority of an app that names this class, or none. */
  of(className: string | undefined): number;
  /** Reads the classes if it is time to; `named` are the classes of the apps. Never throws. */
  refresh(named: (string | undefined)[], signal?: AbortSignal): Promise<void>;
}

export interface PrioritiesOptions {
  /** Absent: a node without a cluster. */
  client?: KubeClient;
  log: Logger;
  now?: () => number;
}

type ServerClass = KubeObject & { value?: number; globalDefault?: boolean };

const usualMs = 300_000;
const soonMs = 60_000;

/** Knows the classes of the system, until the cluster's are read. */
export function createPriorities({ client, log, now = Date.now }: PrioritiesOptions): Priorities {
  let classes = systemClasses;
  let askedAt = -Infinity;
  let failed = false;

  const isDue = (named: (string | undefined)[]) => {
    const isMissing = named.some((wanted) => wanted && !classes.some(({ name }) => name === wanted));
    return now() - askedAt >= (failed || isMissing ? soonMs : usualMs);
  };
  return {
    of: (className) => priorityOf(className, classes),
    async refresh(named, signal) {
      if (!client || !isDue(named)) return;
      askedAt = now();
      try {
        const { items } = await listAll<ServerClass>(client, { resource: priorityClasses, signal });
        const listed = items.map(readClass);
        const isListed = (name: string) => listed.some((other) => other.name === name);
        failed = false;
        classes = [...listed, ...systemClasses.filter(({ name }) => !isListed(name))];
      } catch (error) {
        failed = true;
        if (!signal?.aborted) log.debug("the priority classes cannot be read now", { error });
      }
    },
  };
}

function readClass({ metadata, value = 0, globalDefault = false }: ServerClass): PriorityClass {
  return { name: metadata?.name ?? "", value, globalDefault };
}
