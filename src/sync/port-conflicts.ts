/** Finds host ports that more than one app of a node wants. Pure. The scheduler prevents it; local manifests may do it. */
import type { RunnableApp } from "../api/app-shapes.ts";

export interface PortConflict {
  /** Such as `8080/TCP`. */
  port: string;
  /** The keys of its apps, at least two. */
  keys: string[];
}

/** Apps that are suspended or being deleted do not count: they listen on nothing. */
export function findPortConflicts(apps: Iterable<[key: string, app: RunnableApp]>): PortConflict[] {
  const users = new Map<string, string[]>();
  for (const [key, { spec, metadata }] of apps) {
    if (spec.suspend || metadata.deletionTimestamp) continue;
    const ports = new Set((spec.ports ?? []).map(({ port, protocol = "TCP" }) => `${port}/${protocol}`));
    for (const port of ports) users.set(port, [...users.get(port) ?? [], key]);
  }
  return [...users].filter(([, keys]) => keys.length > 1).map(([port, keys]) => ({ port, keys }));
}

export function describePortConflict({ port, keys }: PortConflict): string {
  return `port ${port} is wanted by ${keys.join(" and ")}: only one of them can listen on it`;
}
