/**
 * The union of the sources: each app once, and never an app removed that its source has not certainly given up.
 *
 * Where two want the same name, the one that comes first wins and the other is reported: by the order of sources, and within a source by
 * the order of its list, such as that of file names. The other takes over when the first is gone.
 */
import { keyOf } from "../api/names.ts";
import type { DesiredApp, SourceProblem, SourceSink } from "../sources/source.ts";
import type { Desired } from "../supervisor/runner/runner.ts";
import { toRunnable } from "./runnable.ts";

export interface DesiredState {
  /** The sink that one source writes to. */
  sinkFor(source: string): SourceSink;
  /** What is wanted now. */
  union(): Union;
}

export interface Union {
  apps: Map<string, Desired>;
  /** The sources that this agent follows. */
  sources: Set<string>;
  /** Those of them that have given a complete list in this agent's life: only their apps may be found missing. */
  complete: Set<string>;
  problems: SourceProblem[];
}

/** `order` ranks the sources, first wins; `onChange` is called after every change. */
export function createDesiredState(order: string[], onChange: () => void): DesiredState {
  /** By source and key; one source may want an app in several places, of which the first counts. */
  const apps = new Map<string, Map<string, Desired[]>>(order.map((source) => [source, new Map()]));
  const problems = new Map<string, SourceProblem[]>();
  const complete = new Set<string>();

  const appsOf = (source: string) => {
    const known = apps.get(source);
    if (!known) throw new Error(`no source is called ${JSON.stringify(source)}`);
    return known;
  };

  return {
    sinkFor: (source) => ({
      replace(list) {
        const wanted = new Map<string, Desired[]>();
        for (const item of list) {
          const key = keyOf(item.app);
          wanted.set(key, [...wanted.get(key) ?? [], prepare(item)]);
        }
        apps.set(source, wanted);
        complete.add(source);
        onChange();
      },
      upsert(item) {
        appsOf(source).set(keyOf(item.app), [prepare(item)]);
        onChange();
      },
      remove(key, uid) {
        const known = appsOf(source).get(key) ?? [];
        const left = known.filter(({ app }) => app.metadata.uid !== uid);
        if (left.length === known.length) return;
        if (left.length > 0) appsOf(source).set(key, left);
        else appsOf(source).delete(key);
        onChange();
      },
      trouble(list) {
        problems.set(source, list);
        onChange();
      },
    }),
    union: () => ({
      ...unite(order.map((source) => appsOf(source)), [...problems.values()].flat()),
      sources: new Set(order),
      complete: new Set(complete),
    }),
  };
}

function unite(ranked: Map<string, Desired[]>[], known: SourceProblem[]): Pick<Union, "apps" | "problems"> {
  const apps = new Map<string, Desired>();
  const problems = [...known];
  for (const wanted of ranked) {
    for (const [key, items] of wanted) {
      for (const item of items) {
        const winner = apps.get(key);
        if (winner) problems.push({ message: conflict(key, winner, item), origin: item.origin });
        else apps.set(key, item);
      }
    }
  }
  return { apps, problems };
}

function conflict(key: string, winner: Desired, other: Desired): string {
  const [first, second] = [placeOf(winner), placeOf(other)];
  const who = first === second ? `more than once by ${first}` : `by ${first} and by ${second}`;
  return `${key} is wanted ${who}: the first is taken`;
}

function prepare({ app, source, origin, problems }: DesiredApp): Desired {
  const invalid = problems?.map(({ message }) => message).join("; ");
  return { app: toRunnable(app), source, ...(origin ? { origin } : {}), ...(invalid ? { invalid } : {}) };
}

function placeOf({ source, origin }: Desired): string {
  return origin ? `${source} (${origin})` : source;
}
