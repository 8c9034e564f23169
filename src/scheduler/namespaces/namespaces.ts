/**
 * The rules of namespaces: `limit-range` sets and bounds the caps of single apps, `quota` bounds the sum of a namespace, `bypass` finds
 * bound apps that break them. This file keeps them by namespace.
 */
import type { V1LimitRange, V1ResourceQuota } from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../kube/wire.ts";
import type { ClusterEvent } from "../types.ts";
import { type LimitRule, readLimitRange } from "./limit-range.ts";
import { type Quota, readQuota } from "./quota.ts";

export { brokenRules, findBypasses } from "./bypass.ts";
export { applyLimits, type WrittenCaps } from "./limit-range.ts";
export { isOverQuota, type Points, type Quota, quotaProblem, quotaStatusPatch } from "./quota.ts";

export class NamespaceRules {
  readonly #limits = new Map<string, Map<string, LimitRule[]>>();
  readonly #quotas = new Map<string, Map<string, Quota>>();
  readonly #emit: (event: ClusterEvent, namespace: string) => void;

  constructor(emit: (event: ClusterEvent, namespace: string) => void) {
    this.#emit = emit;
  }

  /** Sorted by the name of the LimitRange. */
  limits(namespace: string): LimitRule[] {
    const named = [...this.#limits.get(namespace) ?? []];
    return named.sort(([a], [b]) => a < b ? -1 : 1).flatMap(([, rules]) => rules);
  }

  quotas(namespace: string): Quota[] {
    return [...this.#quotas.get(namespace)?.values() ?? []];
  }

  *allQuotas(): Iterable<Quota> {
    for (const quotas of this.#quotas.values()) yield* quotas.values();
  }

  applyLimitRange(object: Wire<V1LimitRange>): void {
    this.#setLimits(object, readLimitRange(object));
  }

  removeLimitRange(object: KubeObject): void {
    this.#setLimits(object, []);
  }

  applyQuota(object: Wire<V1ResourceQuota>): void {
    this.#setQuota(object, readQuota(object));
  }

  removeQuota(object: KubeObject): void {
    this.#setQuota(object, undefined);
  }

  #setLimits(object: KubeObject, rules: LimitRule[]): void {
    set(this.#limits, object, rules.length > 0 ? rules : undefined);
    this.#emit("limitRange", object.metadata?.namespace ?? "");
  }

  #setQuota(object: KubeObject, next: Quota | undefined): void {
    const before = set(this.#quotas, object, next);
    // Most updates only change what is used.
    if (JSON.stringify(before?.hard) === JSON.stringify(next?.hard)) return;
    this.#emit("quota", object.metadata?.namespace ?? "");
  }
}

/** Sets or deletes a value by namespace and name; returns the previous one. */
function set<T>(
  byNamespace: Map<string, Map<string, T>>,
  { metadata }: KubeObject,
  value: T | undefined,
): T | undefined {
  const { namespace = "", name = "" } = metadata ?? {};
  const values = byNamespace.get(namespace) ?? new Map<string, T>();
  const before = values.get(name);
  if (value === undefined) values.delete(name);
  else values.set(name, value);
  if (values.size > 0) byNamespace.set(namespace, values);
  else byNamespace.delete(namespace);
  return before;
}
