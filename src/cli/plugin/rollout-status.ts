/**
 * `kubectl ncapp rollout status SET`: waits until the rollout is complete or has stalled, or the job has ended. It follows the set with a watch, with one
 * line in place on a terminal and a line per change elsewhere.
 */
import type { NCApp, NCAppSet } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncapps, ncappsets } from "../../kube/resources.ts";
import { followList, listAll } from "../../kube/watch/watch.ts";
import type { Io } from "../command.ts";
import { failingApps, hasEnded, type Progress, progressBar, rolloutProgress } from "./rollout-progress.ts";
import { describeSet, isOwnedBy, labelSelectorOf } from "./set-objects.ts";

export interface StatusOptions {
  /** False: print once. */
  watch?: boolean;
  timeoutMs?: number;
}

const barWidth = 20;
const clearLine = "\r\x1b[K";

/** Prints the progress; resolves to false if the rollout has stalled or the job has failed. Throws if the end was not reached in time. */
export async function waitForRollout(
  client: KubeClient,
  set: NCAppSet,
  { watch = true, timeoutMs }: StatusOptions,
  io: Pick<Io, "stdout" | "stderr" | "columns" | "signal">,
): Promise<boolean> {
  const screen = createScreen(set, io);
  const shown = new Set<string>();
  /** Shows the set as it is now; true if that is the end. */
  const show = async (current: NCAppSet) => {
    const progress = rolloutProgress(current);
    if (progress.failed > 0 || progress.state === "stalled" || progress.state === "failed") {
      const failing = failingApps(current, await appsOf(client, current));
      for (const line of failing.filter((line) => !shown.has(line))) screen.note(`  ${line}`);
      failing.forEach((line) => shown.add(line));
    }
    screen.progress(progress);
    return hasEnded(progress) ? progress : undefined;
  };

  let latest = set;
  const timeout = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const signal = AbortSignal.any([io.signal, ...timeout]);
  try {
    const first = await show(set);
    if (first || !watch) return !first || first.state === "complete";
    for await (const current of changesOf(client, set, signal)) {
      const end = await show(latest = current);
      if (end) return end.state === "complete";
    }
  } finally {
    screen.end();
  }
  const why = io.signal.aborted ? "interrupted" : `timed out after ${timeoutMs! / 1000} s`;
  throw new Error(`${why}: ${describeSet(set)}: ${rolloutProgress(latest).message}`);
}

/** Yields the set whenever it may have changed, until the signal aborts. */
async function* changesOf(client: KubeClient, { metadata }: NCAppSet, signal: AbortSignal) {
  const { namespace, name, uid } = metadata;
  const fieldSelector = `metadata.name=${name}`;
  const isIt = (set: NCAppSet) => set.metadata.name === name;
  const options = { resource: ncappsets, namespace, fieldSelector, filter: isIt };
  for await (const event of followList<NCAppSet>(client, options, signal)) {
    if (event.type === "problem" && [401, 403, 404].some((status) => hasStatus(event.error, status))) {
      throw event.error;
    }
    const found = event.type === "listed"
      ? event.items[0]
      : event.type === "applied"
      ? event.object
      : undefined;
    const isGone = event.type === "deleted" || event.type === "listed" && !found ||
      found !== undefined && found.metadata.uid !== uid;
    if (isGone) throw new Error(`${describeSet({ metadata })} was deleted`);
    if (found) yield found;
  }
}

async function appsOf(client: KubeClient, set: NCAppSet): Promise<NCApp[]> {
  const { namespace } = set.metadata;
  const options = { resource: ncapps, namespace, labelSelector: labelSelectorOf(set) };
  const { items } = await listAll<NCApp>(client, options);
  return items.filter((app) => isOwnedBy(set, app));
}

/** One line in place on a terminal; elsewhere each new message is a line. */
function createScreen(set: NCAppSet, { stdout, columns }: Pick<Io, "stdout" | "columns">) {
  const isTerminal = columns > 0;
  let last = "";
  return {
    note: (line: string) => stdout(`${isTerminal ? clearLine : ""}${line}\n`),
    progress(progress: Progress) {
      const { state, message, done, desired } = progress;
      const isEnd = hasEnded(progress);
      const bar = isTerminal ? `[${progressBar(progress, barWidth)}] ${done}/${desired} ` : "";
      const line = `${describeSet(set)}: ${bar}${isEnd ? `${state}: ` : ""}${message}`;
      if (!isTerminal && line !== last) stdout(`${line}\n`);
      // A line of two rows could not be overwritten; the last one is whole.
      if (isTerminal) stdout(clearLine + (isEnd ? `${line}\n` : [...line].slice(0, columns - 1).join("")));
      last = isEnd ? "" : line;
    },
    /** Keeps the last line of the bar. */
    end: () => isTerminal && last !== "" && stdout("\n"),
  };
}
