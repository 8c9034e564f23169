/** Changes apps at a steady rate and measures, for each, how long it takes until its status says that the new version runs. */
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
  /** How long the last statuses may take. */
  patienceMs: number;
}

export interface Changes {
  /** From the request until a watch brought the status, for each change that arrived. */
  times: number[];
  /** Changes whose status did not arrive in time, or that the server did not take. */
  missing: number;
  seconds: number;
}

export async function changeApps(
  client: KubeClient,
  { names, perSecond, patienceMs }: ChangeOptions,
): Promise<Changes> {
  const waiting = new Map<string, { sentAt: number; before?: string; generation: number }>();
  const times: number[] = [];
  let refused = 0;
  const stopping = new AbortController();
  /** A status may arrive before the answer to the change. */
  const latest = new Map<string, NCApp>();
  const look = (app: NCApp) => {
    const { metadata, status } = app;
    latest.set(metadata.name, app);
    const change = waiting.get(metadata.name);
    if (!change || status?.phase !== "Running" || status.startTime === change.before) return;
    if ((status.observedGeneration ?? 0) < change.generation) return;
    waiting.delete(metadata.name);
    times.push(performance.now() - change.sentAt);
  };
  const listed = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const event of followList<NCApp>(client, { resource: ncapps }, stopping.signal)) {
      if (event.type === "applied") look(event.object);
      if (event.type !== "listed") continue;
      event.items.forEach(look);
      listed.resolve();
    }
  })();
  await listed.promise;

  const change = async (name: string, at: number) => {
    const sentAt = performance.now();
    const body = { spec: { args: [`${sentAt}-${at}`] } };
    try {
      const { metadata, status } = await client.request<NCApp>({
        method: "PATCH",
        path: ncappPath("default", name),
        body,
        timeoutMs: patienceMs,
      });
      waiting.set(name, { sentAt, before: status?.startTime, generation: metadata.generation ?? 0 });
      const seen = latest.get(name);
      if (seen) look(seen);
    } catch {
      refused++;
    }
  };
  const start = performance.now();
  const sent: Promise<void>[] = [];
  for (const [at, name] of names.entries()) {
    await pause(Math.max(0, start + at * 1000 / perSecond - performance.now()));
    sent.push(change(name, at));
  }
  await Promise.all(sent);
  const seconds = (performance.now() - start) / 1000;
  for (const end = performance.now() + patienceMs; waiting.size > 0 && performance.now() < end;) {
    await pause(50);
  }
  stopping.abort();
  await watching;
  return { times, missing: waiting.size + refused, seconds };
}
