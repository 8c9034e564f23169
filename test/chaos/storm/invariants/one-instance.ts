import type { Invariant } from "../evidence.ts";
import type { LiveProcess } from "../live.ts";

/** No uid has two live runs anywhere; no name has two on one node, since the old app ends before its successor starts. */
export const oneInstance: Invariant = {
  name: "at most one instance of an app",
  judge: ({ live }) => [
    ...doubles(live, ({ uid }) => `uid ${uid}`),
    ...doubles(live, ({ node, name }) => `app ${name} on ${node}`),
  ],
};

/** Returns the processes that conflict: those of several runs under one key. */
export function rivals(live: LiveProcess[]): LiveProcess[] {
  const keys = [({ uid }: LiveProcess) => uid, ({ node, name }: LiveProcess) => `${node} ${name}`];
  const found = keys.flatMap((key) => [...grouped(live, key).values()].filter(hasTwoRuns).flat());
  return [...new Set(found)];
}

function doubles(live: LiveProcess[], key: (process: LiveProcess) => string): string[] {
  return [...grouped(live, key)].filter(([, group]) => hasTwoRuns(group)).map(([what, group]) => {
    const runs = [...new Set(group.map(({ run, node, pid }) => `${run} on ${node} (process ${pid})`))];
    return `${what} lives more than once: ${runs.join(", ")}`;
  });
}

function grouped<T>(list: T[], key: (item: T) => string): Map<string, T[]> {
  return Map.groupBy(list, key);
}

function hasTwoRuns(group: LiveProcess[]): boolean {
  return new Set(group.map(({ run }) => run)).size > 1;
}
