/** Joins the parts of the agent's history. Pure. */
import type { AppSeries, History } from "../../view.ts";

/** What the charts show: `first` is the oldest sample of all series, which have the same length. */
export interface Timeline extends History {
  node: AppSeries;
}

/** How many samples a chart shows: half an hour. */
export const shown = 180;

/** Returns the timeline extended by a part. A part that does not continue it comes from a restarted agent and replaces it. */
export function extend(before: Timeline | undefined, part: History): Timeline {
  const old = before && part.first === before.last + 1 ? before : undefined;
  const first = Math.max(part.last - shown + 1, old?.first ?? part.first);
  const grow = (key: string | undefined, added: Partial<AppSeries>): AppSeries => {
    const known = key === undefined ? old?.node : old?.apps[key];
    const length = part.last - first + 1;
    const values = (name: "cpuPCT" | "memPCT" | "throttledPCT") =>
      align([...known?.[name] ?? [], ...added[name] ?? nothing(part)], length);
    const marks = (name: "oomKills" | "restarts") =>
      [...known?.[name] ?? [], ...added[name] ?? []].filter((sample) => sample >= first);
    return {
      cpuPCT: values("cpuPCT"),
      memPCT: values("memPCT"),
      throttledPCT: values("throttledPCT"),
      oomKills: marks("oomKills"),
      restarts: marks("restarts"),
    };
  };
  return {
    periodSeconds: part.periodSeconds,
    first,
    last: part.last,
    at: part.at,
    node: grow(undefined, part.node),
    apps: Object.fromEntries(Object.entries(part.apps).map(([key, added]) => [key, grow(key, added)])),
  };
}

function nothing({ first, last }: History): null[] {
  return new Array(last - first + 1).fill(null);
}

/** Returns the last `length` values, filled up with null at the front. */
function align(values: (number | null)[], length: number): (number | null)[] {
  return [
    ...new Array(Math.max(0, length - values.length)).fill(null),
    ...values.slice(-length || values.length),
  ];
}
