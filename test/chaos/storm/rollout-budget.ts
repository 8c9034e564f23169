/**
 * Counts how many apps the rollout of a set has made unavailable, by the order of events in the API server. Pure.
 *
 * An app counts from the change of its revision until its agent first reports it as ready with that change, or as failed, which
 * leaves the budget. It is also forgotten after `forgetMs`, when its node may count as lost. An app that counts already may be
 * changed again.
 */
import { setLabels } from "../../../src/api/names.ts";
import type { NCApp } from "../../../src/api/types.ts";

export interface RolloutBudget {
  /** A complete list: what happened before it was missed. */
  listed(apps: readonly NCApp[]): void;
  /** Returns what is wrong with this change. */
  applied(app: NCApp, now: number): string[];
  deleted(app: NCApp): void;
}

interface Known {
  name: string;
  hash: string;
  /** When it was updated, while it counts. */
  since?: number;
}

export function createRolloutBudget(
  { maxUnavailable, forgetMs }: { maxUnavailable: number; forgetMs: number },
): RolloutBudget {
  const known = new Map<string, Known>();
  const note = (app: NCApp, since?: number) =>
    known.set(app.metadata.uid ?? "", { name: app.metadata.name, hash: hashOf(app), since });
  return {
    listed(apps) {
      known.clear();
      for (const app of apps) note(app);
    },
    applied(app, now) {
      const before = known.get(app.metadata.uid ?? "");
      const isUpdate = before !== undefined && before.hash !== hashOf(app);
      note(app, isUpdate ? now : isSettled(app) ? undefined : before?.since);
      if (!isUpdate || counts(before, now)) return [];
      const hit = [...known.values()].filter((other) => counts(other, now)).map(({ name }) => name);
      return hit.length > maxUnavailable
        ? [`${hit.join(", ")} are being updated at a time, but maxUnavailable is ${maxUnavailable}`]
        : [];
    },
    deleted: (app) => void known.delete(app.metadata.uid ?? ""),
  };

  function counts({ since }: Known, now: number): boolean {
    return since !== undefined && now - since < forgetMs;
  }
}

function hashOf({ metadata }: NCApp): string {
  return metadata.labels?.[setLabels.revision] ?? "";
}

/** Reports whether the agent has seen the change, and the app is ready or has failed with it. */
function isSettled({ metadata, status = {} }: NCApp): boolean {
  const { observedGeneration = 0, ready, phase = "" } = status;
  if (observedGeneration < (metadata.generation ?? 1)) return false;
  return ready === true || ["BackOff", "Failed", "Unknown"].includes(phase);
}
