/**
 * The cluster's PriorityClasses, cached for the moment when an app has to be evicted.
 *
 * Guarantees: a lookup makes no request, since memory is short at that moment and the API server may be unreachable: the last list
 * counts. The list is read every five minutes, and every minute after a failure or if an app names an unknown class.
 * Caveat: an agent that has not reached the API server since it started knows only the two system classes.
 */
import type { KubeClient } from "../../kube/client/client.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { priorityClasses } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/wire.ts";
import type { Logger } from "../../lib/log.ts";
import { type PriorityClass, priorityOf, systemClasses } from "../../node/priority.ts";

export interface Priorities {
  /** Returns the priority of an app with this class, or without one. */
  of(className: string | undefined): number;
  /** Reads the classes if they are due; `named` are the classes of the apps. Never throws. */
  refresh(named: (string | undefined)[], signal?: AbortSignal): Promise<void>;
}

export interface PrioritiesOptions {
  /** Absent in a standalone agent. */
  client?: KubeClient;
  log: Logger;
  now?: () => number;
}

type ServerClass = KubeObject & { value?: number; globalDefault?: boolean };

const refreshMs = 300_000;
const retryMs = 60_000;

/** Returns a cache that has the system classes until the cluster's are read. */
export function createPriorities({ client, log, now = Date.now }: PrioritiesOptions): Priorities {
  let classes = systemClasses;
  let refreshedAt = -Infinity;
  let failed = false;

  const isDue = (named: (string | undefined)[]) => {
    const isMissing = named.some((className) => className && !classes.some(({ name }) => name === className));
    return now() - refreshedAt >= (failed || isMissing ? retryMs : refreshMs);
  };
  return {
    of: (className) => priorityOf(className, classes),
    async refresh(named, signal) {
      if (!client || !isDue(named)) return;
      refreshedAt = now();
      try {
        const { items } = await listAll<ServerClass>(client, { resource: priorityClasses, signal });
        const listed = items.map(readClass);
        const isListed = (name: string) => listed.some((listedClass) => listedClass.name === name);
        failed = false;
        classes = [...listed, ...systemClasses.filter(({ name }) => !isListed(name))];
      } catch (error) {
        failed = true;
        if (!signal?.aborted) log.debug("cannot read the priority classes", { error });
      }
    },
  };
}

function readClass({ metadata, value = 0, globalDefault = false }: ServerClass): PriorityClass {
  return { name: metadata?.name ?? "", value, globalDefault };
}
