/** The routes that show apps. */
import type { Context } from "hono";
import { apiVersion, keyOf, listKind } from "../../api/names.ts";
import { showSpec } from "../../api/shown-spec.ts";
import { Refusal, refusalStatus } from "../refusal.ts";
import type { Services } from "../services.ts";
import type { AgentView, AppView, StatusAnswer } from "../view.ts";
import { flag, readQuery } from "./query.ts";
import { sendStream } from "./stream.ts";
import { watchApps, type WatchLine } from "./watch.ts";

const encoder = new TextEncoder();
const lineOf = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
/** A watcher that loses the right gets the same last line as from the API server. */
const watching = {
  contentType: "application/x-ndjson",
  lastWords: (refusal: Refusal) => lineOf("ERROR", refusalStatus(refusal)),
};

/** The agent, and a summary of its apps. */
export function showStatus(context: Context, { view, stateDir, logDir, access }: Services): Response {
  const answer: StatusAnswer = {
    version: view.version,
    node: view.node,
    startedAt: view.startedAt.toISOString(),
    stateDir,
    logDir,
    access,
    size: view.size,
    usage: view.nodeUsage(),
    limits: view.limits,
    launcher: view.launcher(),
    sources: view.sources().map((source) => ({ ...source, since: source.since.toISOString() })),
    problems: view.problems(),
    checks: view.checks(),
    apps: view.apps().map(({ app, status, source }) => ({
      namespace: app.metadata.namespace,
      name: app.metadata.name,
      source,
      phase: status.phase,
      reason: status.reason,
      ready: status.ready,
    })),
  };
  return context.json(answer);
}

/** All apps as an NCAppList; with `watch`, one line per app and then one per change. */
export function listApps(context: Context, { view, followers }: Services): Response {
  const { watch = false } = readQuery<{ watch: boolean }>(context, { watch: flag });
  if (watch) {
    const lines = (signal: AbortSignal) => encodeLines(watchApps(view, signal));
    return sendStream(context, lines, { ...watching, limit: followers });
  }
  return context.json({ apiVersion, kind: listKind, metadata: {}, items: view.apps().map(appJSON) });
}

async function* encodeLines(lines: AsyncIterable<WatchLine>): AsyncGenerator<Uint8Array> {
  for await (const { type, app } of lines) {
    yield encoder.encode(lineOf(type, appJSON(app)));
  }
}

/** One app as an NCApp; with `watch`, a line now and one per change, until it is deleted. */
export function showApp(context: Context, { view, followers }: Services): Response {
  const { watch = false } = readQuery<{ watch: boolean }>(context, { watch: flag });
  const found = requireApp(context, view);
  if (!watch) return context.json(appJSON(found));
  const lines = (signal: AbortSignal) => encodeLines(watchOne(view, keyOf(found.app), signal));
  return sendStream(context, lines, { ...watching, limit: followers });
}

async function* watchOne(view: AgentView, key: string, signal: AbortSignal): AsyncGenerator<WatchLine> {
  for await (const line of watchApps(view, signal, key)) {
    yield line;
    if (line.type === "DELETED") return;
  }
}

/** The app that the path names, or a 404. */
export function requireApp(context: Context, view: AgentView): AppView {
  const { namespace = "", name = "" } = context.req.param();
  const found = view.app(namespace, name);
  if (found) return found;
  throw new Refusal(404, `ncapps "${namespace}/${name}" not found on node ${view.node}`, { name });
}

/** An app as NCApp JSON, without its secrets. */
export function appJSON({ app, status, source, origin, logFile, run }: AppView): object {
  return { ...app, spec: showSpec(app.spec), status, agent: { source, origin, logFile, run: run?.id } };
}
