/**
 * The union of the sources: each app once. An app is removed only when its source certainly no longer wants it.
 *
 * If two places want the same name, the first wins and the other is reported: by the order of the sources, and within a source by the
 * order of its list, such as that of file names. The other takes over when the first is gone.
 */
import type { Desired } from "../api/app-shapes.ts";
import { keyOf } from "../api/names.ts";
import type { SourceProblem, SourceSink } from "../sources/source.ts";
import { toRunnable } from "./runnable.ts";

export interface DesiredState {
  sinkFor(source: string): SourceSink;
  union(): Union;
}

export interface Union {
  apps: Map<string, Desired>;
  /** The sources that this agent follows. */
  sources: Set<string>;
  /** Those that have delivered a complete list to this agent: only their apps may be found missing. */
  complete: Set<string>;
  problems: SourceProblem[];
}

/** `order` ranks the sources, first wins; `onChange` is called after every change. */
export function createDesiredState(order: string[], onChange: () => void): DesiredState {
  /** By source and key. A source may want an app in several places; the first counts. */
  const apps = new Map<string, Map<string, Desired[]>>(order.map((source) => [source, new Map()]));
  const problems = new Map<string, SourceProblem[]>();
  const complete = new Set<string>();

  const appsOf = (source: string) => {
    const known = apps.get(source);
    if (!known) throw new Error(`no source has the name ${JSON.stringify(source)}`);
    return known;
  };

  return {
    sinkFor: (source) => ({
      replace(list) {
        const next = new Map<string, Desired[]>();
        for (const item of list) {
          const key = keyOf(item.app);
          next.set(key, [...next.get(key) ?? [], { ...item, app: toRunnable(item.app) }]);
        }
        apps.set(source, next);
        complete.add(source);
        onChange();
      },
      upsert(item) {
        appsOf(source).set(keyOf(item.app), [{ ...item, app: toRunnable(item.app) }]);
        onChange();
      },
      remove(key, uid) {
        const known = appsOf(source).get(key) ?? [];
        const remaining = known.filter(({ app }) => app.metadata.uid !== uid);
        if (remaining.length === known.length) return;
        if (remaining.length > 0) appsOf(source).set(key, remaining);
        else appsOf(source).delete(key);
        onChange();
      },
      reportProblems(list) {
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
        if (winner) {
          problems.push({ message: conflict(key, winner, item), origin: item.origin, ignored: key });
        } else apps.set(key, item);
      }
    }
  }
  return { apps, problems };
}

function conflict(key: string, winner: Desired, other: Desired): string {
  const [first, second] = [placeOf(winner), placeOf(other)];
  const who = first === second ? `more than once by ${first}` : `by ${first} and by ${second}`;
  return `${key} is defined ${who}: the first one wins`;
}

function placeOf({ source, origin }: Desired): string {
  return origin ? `${source} (${origin})` : source;
}
