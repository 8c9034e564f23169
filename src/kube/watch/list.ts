/**
 * Lists a resource, page by page.
 *
 * Guarantees: the result is complete, from one snapshot, and checked object by object. Anything that is not certainly the
 * requested list is a KubeError, never a shorter or empty list. Only what `filter` and `slim` leave stays in memory; the
 * rest of a page is dropped before the next one is read.
 * Caveat: a page is decoded at once, so memory follows the page size; if pages are too large, smaller ones are requested.
 */
import type { KubeClient } from "../client/client.ts";
import { isExpired, KubeError } from "../kube-error.ts";
import { type Expected, objectProblem, select, type Selection } from "../objects.ts";
import { apiVersionOf, resourcePath } from "../resources.ts";
import type { Identified, KubeObject } from "../wire.ts";

export interface ListOptions<T> extends Expected, Selection<T> {
  labelSelector?: string;
  fieldSelector?: string;
  pageSize?: number;
  signal?: AbortSignal;
}

export interface Listed<T extends KubeObject> {
  items: Identified<T>[];
  resourceVersion: string;
}

export async function listAll<T extends KubeObject>(
  client: KubeClient,
  options: ListOptions<T>,
): Promise<Listed<T>> {
  let pageSize = options.pageSize ?? 500;
  for (let expiries = 0;;) {
    try {
      return await readPages(client, options, pageSize);
    } catch (error) {
      if (error instanceof KubeError && error.reason === "TooLarge" && pageSize > 1) {
        pageSize = Math.ceil(pageSize / 8);
      } // The server forgot the snapshot while its pages were read: start over with a new one.
      else if (!isExpired(error) || ++expiries > 2) throw error;
    }
  }
}

async function readPages<T extends KubeObject>(
  client: KubeClient,
  options: ListOptions<T>,
  limit: number,
): Promise<Listed<T>> {
  const { resource, namespace, labelSelector, fieldSelector, signal } = options;
  const path = resourcePath(resource, { namespace });
  const items: Identified<T>[] = [];
  let resourceVersion: string | undefined;
  let next: string | undefined;
  do {
    const query = { limit, labelSelector, fieldSelector, continue: next };
    const page = await client.request<Page<T>>({ path, query, signal });
    const problem = pageProblem(page, options, resourceVersion);
    if (problem) {
      const url = client.access.server.origin + path;
      throw new KubeError(`not the list that was asked for: ${problem}`, {
        method: "GET",
        url,
        reason: "BadAnswer",
      });
    }
    for (const item of page.items) {
      const selected = select(item, options);
      if (selected) items.push(selected);
    }
    resourceVersion = page.metadata.resourceVersion;
    next = page.metadata.continue || undefined;
  } while (next);
  return { items, resourceVersion };
}

interface Page<T> {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

function pageProblem(
  page: Partial<Page<unknown>>,
  expected: Expected,
  earlier: string | undefined,
): string | undefined {
  const { resource } = expected;
  if (page.kind !== `${resource.kind}List`) return `its kind is ${JSON.stringify(page.kind)}`;
  if (page.apiVersion !== apiVersionOf(resource)) {
    return `its apiVersion is ${JSON.stringify(page.apiVersion)}`;
  }
  const version = page.metadata?.resourceVersion;
  if (typeof version !== "string" || !version) return "it has no resourceVersion";
  // No store is at version 0: the answer comes from a cache that has not been filled yet.
  if (version === "0") return 'its resourceVersion is "0", so it is incomplete';
  const remaining = page.metadata?.remainingItemCount;
  if (remaining && !page.metadata?.continue) {
    return `it is incomplete: its remainingItemCount is ${remaining}, and it has no continue token`;
  }
  if (earlier && version !== earlier) return `its pages are of different versions, ${earlier} and ${version}`;
  if (!Array.isArray(page.items)) return `its items are ${JSON.stringify(page.items)?.slice(0, 40)}`;
  for (const item of page.items) {
    const problem = objectProblem(item, expected);
    if (problem) return problem;
  }
  return undefined;
}
