/** What a reload of the agent's settings changes. Pure. */

/** The settings that apply while the agent runs. */
const live: readonly string[] = ["log-level", "log-format"];

type Texts = Record<string, string>;

export interface ReloadPlan {
  /** Settings that differ from the last reading and apply now. */
  applied: string[];
  /** Settings that differ from those that the agent was started with, and apply after its next start. */
  pending: string[];
}

/** Compares the settings as they are now with those of the start and of the last reading. */
export function planReload(now: Texts, { started, last }: { started: Texts; last: Texts }): ReloadPlan {
  const differing = (before: Texts) => Object.keys(now).filter((name) => now[name] !== before[name]);
  return {
    applied: differing(last).filter((name) => live.includes(name)),
    pending: differing(started).filter((name) => !live.includes(name)),
  };
}
