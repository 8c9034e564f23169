import type { NCAppSpec } from "./types.ts";

/** The Secrets and ConfigMaps that an app uses, by name, in its namespace. Sorted, each once. */
export interface References {
  secrets: string[];
  configMaps: string[];
}

/** Returns what a spec refers to. Fields that do so are added here: the nodes of the app may read nothing else. */
export function referencesOf({ env = [] }: Pick<NCAppSpec, "env">): References {
  const sources = env.map(({ valueFrom }) => valueFrom ?? {});
  return {
    secrets: namesIn(sources.map(({ secretKeyRef }) => secretKeyRef)),
    configMaps: namesIn(sources.map(({ configMapKeyRef }) => configMapKeyRef)),
  };
}

export function hasReferences(spec: Pick<NCAppSpec, "env">): boolean {
  const { secrets, configMaps } = referencesOf(spec);
  return secrets.length + configMaps.length > 0;
}

function namesIn(holders: readonly ({ name: string } | undefined)[]): string[] {
  return [...new Set(holders.flatMap((holder) => holder?.name ?? []))].sort();
}
