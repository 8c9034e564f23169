/**
 * The union of the sources: each app once, and never an app removed that its source has not certainly given up.
 *
 * Where two sources want the same name, the one that comes first in the order of sources wins and the other is reported.
 */
import { appKey } from "../api/names.ts";
import type { DesiredApp, SourceProblem, SourceSink } from "../sources/source.ts";
import type { Desired } from "../supervisor/runner.ts";
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
  const apps = new Map<string, Map<string, Desired>>(order.map((source) => [source, new Map()]));
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
        apps.set(source, new Map(list.map((item) => [keyOf(item), prepare(item)])));
        complete.add(source);
        onChange();
      },
      upsert(item) {
        appsOf(source).set(keyOf(item), prepare(item));
        onChange();
      },
      remove(key, uid) {
        const known = appsOf(source).get(key);
        if (known && known.app.metadata.uid !== uid) return;
        appsOf(source).delete(key);
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

function unite(ranked: Map<string, Desired>[], known: SourceProblem[]): Pick<Union, "apps" | "problems"> {
  const apps = new Map<string, Desired>();
  const problems = [...known];
  for (const [key, item] of ranked.flatMap((list) => [...list])) {
    const winner = apps.get(key);
    if (!winner) apps.set(key, item);
    else {problems.push({
        message: `${key} is wanted by ${placeOf(winner)} and by ${placeOf(item)}: the first is taken`,
        origin: item.origin,
      });}
  }
  return { apps, problems };
}

function keyOf({ app }: DesiredApp): string {
  return appKey(app.metadata.namespace ?? "default", app.metadata.name);
}

function prepare({ app, source, origin, problems }: DesiredApp): Desired {
  const invalid = problems?.map(({ message }) => message).join("; ");
  return { app: toRunnable(app), source, ...(origin ? { origin } : {}), ...(invalid ? { invalid } : {}) };
}

function placeOf({ source, origin }: Desired): string {
  return origin ? `${source} (${origin})` : source;
}
