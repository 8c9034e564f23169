/** Which apps are shown, and in which order; kept in the address, so that a link shows the same. Pure. */
import { type App, keyOf } from "./agent.ts";
import { toneOf } from "./app-state.ts";

export interface ViewState {
  find: string;
  sort: SortName;
  reverse: boolean;
}

/** Each order starts with what a reader looks for. */
const sorts = {
  attention: (a: App, b: App) => urgency(a) - urgency(b),
  name: () => 0,
  cpu: highest(({ status }) => Number(status.cpuPCT ?? -1)),
  memory: highest(({ status }) => Number(status.memPCT ?? -1)),
  restarts: highest(({ status }) => status.restarts ?? 0),
  started: highest(({ status }) => Date.parse(status.startTime ?? "") || 0),
};

export type SortName = keyof typeof sorts;

export const startView: ViewState = { find: "", sort: "attention", reverse: false };

/** Returns what the query of the address asks for; unknown values are left out. */
export function readView(query: string): ViewState {
  const fields = new URLSearchParams(query);
  const sort = fields.get("sort") ?? "";
  return {
    find: fields.get("find") ?? "",
    sort: Object.hasOwn(sorts, sort) ? sort as SortName : startView.sort,
    reverse: fields.get("reverse") === "true",
  };
}

/** Returns the query of the address; empty for the usual view. */
export function writeView({ find, sort, reverse }: ViewState): string {
  const fields = new URLSearchParams({
    ...(find.trim() ? { find } : {}),
    ...(sort === startView.sort ? {} : { sort }),
    ...(reverse ? { reverse: "true" } : {}),
  });
  return fields.size > 0 ? `?${fields}` : "";
}

/** Returns the apps that match every word, in order. */
export function selectApps(apps: App[], { find, sort, reverse }: ViewState): App[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const found = apps.filter((app) => {
    const { phase, reason, ready } = app.status;
    const text = `${keyOf(app)} ${phase} ${reason} ${ready ? "ready" : "not-ready"}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const byName = (a: App, b: App) => keyOf(a) < keyOf(b) ? -1 : 1;
  const sorted = found.sort((a, b) => sorts[sort](a, b) || byName(a, b));
  return reverse ? sorted.reverse() : sorted;
}

/** Counts the apps of each phase, those that need attention first. */
export function phasesOf(apps: App[]): { phase: string; count: number; app: App }[] {
  const groups = Map.groupBy(apps, ({ status }) => status.phase ?? "Unknown");
  return [...groups].map(([phase, [app, ...more]]) => ({ phase, count: 1 + more.length, app: app! }))
    .sort((a, b) => urgency(a.app) - urgency(b.app) || (a.phase < b.phase ? -1 : 1));
}

function urgency(app: App): number {
  return ["bad", "warn", "good", "calm"].indexOf(toneOf(app));
}

function highest(value: (app: App) => number) {
  return (a: App, b: App) => value(b) - value(a);
}
