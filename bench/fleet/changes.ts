/**
 * Changes apps at a steady rate and measures, for each, how long it takes until its status says that the new version runs.
 *
 * Guarantee: it ends, at most `patienceMs` after the last change was due, however slow the server is.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath, ncapps } from "../../src/kube/resources.ts";
import { followList } from "../../src/kube/watch/watch.ts";

export interface ChangeOptions {
  /** The names of the apps in the namespace "default"; each is changed once. */
  names: string[];
  perSecond: number;
  /** How long the last changes and statuses may take. */
  patienceMs: number;
}

export interface Changes {
  /** From the request until a watch brought the status, for each change that arrived. */
  times: number[];
  /** All changes that were due. */
  count: number;
  /** Changes that the server did not take in time. */
  refused: number;
  /** How many had not arrived `backlogMs` after the last one was due: many if changes arrive more slowly than they are made. */
  backlog: number;
}

export interface Changer extends AsyncDisposable {
  change(options: ChangeOptions): Promise<Changes>;
}

/** Long enough for a change, short enough to show that changes queue up. */
export const backlogMs = 1000;
const listMs = 60_000;

/** Follows all apps, so that `change` sees their statuses; resolves when they are listed. */
export async function followApps(client: KubeClient): Promise<Changer> {
  const stopping = new AbortController();
  const waiting = new Map<string, { sentAt: number; before?: string; generation: number }>();
  let times: number[] = [];
  /** A status may arrive before the answer to the change. */
  const latest = new Map<string, Pick<NCApp, "status">>();
  const look = (name: string) => {
    const { status } = latest.get(name) ?? {};
    const change = waiting.get(name);
    if (!change || status?.phase !== "Running" || status.startTime === change.before) return;
    if ((status.observedGeneration ?? 0) < change.generation) return;
    waiting.delete(name);
    times.push(performance.now() - change.sentAt);
  };
  const record = ({ metadata: { name }, status }: NCApp) => {
    latest.set(name, { status });
    look(name);
  };
  const listed = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const event of followList<NCApp>(client, { resource: ncapps }, stopping.signal)) {
      if (event.type === "applied") record(event.object);
      if (event.type !== "listed") continue;
      event.items.forEach(record);
      listed.resolve();
    }
  })();
  const close = async () => {
    stopping.abort();
    await watching;
  };
  const timer = setTimeout(
    () => listed.reject(new Error(`the apps were not listed within ${listMs / 1000} s`)),
    listMs,
  );
  await listed.promise.catch(async (error) => {
    await close();
    throw error;
  }).finally(() => clearTimeout(timer));

  const send = async (name: string, body: object, signal: AbortSignal) => {
    const sentAt = performance.now();
    const { metadata, status } = await client.request<NCApp>({
      method: "PATCH",
      path: ncappPath("default", name),
      body,
      signal,
    });
    waiting.set(name, { sentAt, before: status?.startTime, generation: metadata.generation ?? 0 });
    look(name);
  };

  return {
    async change({ names, perSecond, patienceMs }) {
      waiting.clear();
      times = [];
      let refused = 0;
      const startAt = performance.now();
      const lastAt = startAt + names.length * 1000 / perSecond;
      const untilAt = (at: number) => Math.max(0, at - performance.now());
      const ending = AbortSignal.timeout(Math.ceil(untilAt(lastAt + patienceMs)));
      const sent: Promise<void>[] = [];
      for (const [at, name] of names.entries()) {
        await pause(untilAt(startAt + at * 1000 / perSecond));
        const body = { spec: { args: [`${startAt}-${at}`] } };
        sent.push(send(name, body, ending).catch(() => void refused++));
      }
      await pause(untilAt(lastAt + backlogMs));
      const backlog = names.length - times.length;
      await Promise.all(sent);
      while (waiting.size > 0 && !ending.aborted) await pause(20);
      return { times, count: names.length, refused, backlog };
    },
    [Symbol.asyncDispose]: close,
  };
}
