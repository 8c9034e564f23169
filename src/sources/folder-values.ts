/** The Secrets and ConfigMaps of the folder of manifests, for its apps: `env` reads them at every start. */
import { holderKey, type ValueHolder } from "../api/manifest/manifest.ts";
import type { FolderHolder } from "./manifest-reading.ts";
import type { SourceProblem } from "./source.ts";

export interface FolderValues {
  readonly folder: string;
  /** Sets all that the folder has now. */
  replace(holders: FolderHolder[]): void;
  /** `unknown`: the folder has not been read yet. */
  find(ref: Pick<ValueHolder, "kind" | "namespace" | "name">): FolderHolder | "unknown" | undefined;
}

export function createFolderValues(folder: string): FolderValues {
  let known: Map<string, FolderHolder> | undefined;
  return {
    folder,
    replace: (holders) => void (known = new Map(holders.map((holder) => [holder.key, holder]))),
    find: (ref) => known ? known.get(holderKey(ref)) : "unknown",
  };
}

/** All Secrets and ConfigMaps, each once: that of the first file counts. */
export function uniteHolders(
  files: Map<string, FolderHolder[]>,
): { holders: FolderHolder[]; conflicts: SourceProblem[] } {
  const first = new Map<string, { path: string; holder: FolderHolder }>();
  const conflicts: SourceProblem[] = [];
  for (const [path, holders] of files) {
    for (const holder of holders) {
      const known = first.get(holder.key);
      if (!known) first.set(holder.key, { path, holder });
      else {
        const message = `${holder.key} is defined in ${known.path} and in ${path}: the first one wins`;
        conflicts.push({ message, origin: path });
      }
    }
  }
  return { holders: [...first.values()].map(({ holder }) => holder), conflicts };
}
