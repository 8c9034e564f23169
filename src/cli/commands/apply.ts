import { keyOf } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import {
  type AgentClient,
  appFlags,
  connectAgent,
  type NodeApp,
  type PutOutcome,
} from "../agent-api/agent-api.ts";
import { nameOf, shortName } from "../app-name.ts";
import {
  describeState,
  isSettled,
  type Outcome,
  report,
  waitForNewRun,
  waitUntilSteady,
  wasDeleted,
} from "../app-state.ts";
import { type Command, type Flag, type Invocation, type Io, textFlag } from "../command.ts";
import { parseDuration } from "../flag-values.ts";
import { filenameFlag, readManifestFiles } from "../manifest-files.ts";
import { whileRunning } from "../screen/screen.ts";

/** The flags of commands that read manifests for the agent of this node. */
export const manifestFlags: Record<string, Flag> = {
  filename: filenameFlag,
  ...appFlags,
  namespace: { short: "n", value: "NAME", help: "Namespace of apps that name none.", default: "default" },
};

/** Sends manifests to the agent of this node. If one is invalid, none is applied. Objects of other kinds are skipped. */
export const applyCommand: Command = {
  operands: "[FILE...]",
  flags: {
    ...manifestFlags,
    "dry-run": { help: "Only print what would change." },
    wait: { help: "Wait until all apps are ready; exit with 1 if one is not." },
    timeout: { value: "TIME", help: "How long --wait waits.", default: "60s" },
  },
  otherFlags: {
    "-R": "a folder is read without its subfolders: name each",
    "--recursive": "a folder is read without its subfolders: name each",
    "-k": "kustomize is part of kubectl: use kubectl kustomize DIR | nckubelet apply -f -",
  },
  examples: [
    "nckubelet apply -f app.yaml",
    "nckubelet apply -f apps/ --wait",
    "nckubelet apply -f app.yaml --dry-run",
    "kubectl get ncapp web -o yaml | nckubelet apply -f -",
  ],
  async run(invocation, io) {
    const dryRun = invocation.flags["dry-run"] === true;
    const timeoutMs = parseDuration("timeout", textFlag(invocation, "timeout") ?? "60s");
    const apps = await readApps(invocation, io, "nothing was applied");
    if (!apps) return 1;
    const client = await connectAgent(invocation, io);
    const waits: (() => Promise<boolean>)[] = [];
    for (const app of apps) {
      const before = await client.find(nameOf(app));
      const outcome = await putApp(client, app, { dryRun });
      if (outcome.refused) throw new Error(`${keyOf(app)} was not applied: ${outcome.refused}`);
      for (const warning of outcome.warnings ?? []) io.stderr(`warning: ${keyOf(app)}: ${warning}\n`);
      io.stdout(`${keyOf(app)} ${describeChange(outcome)}${dryRun ? " (dry run)" : ""}\n`);
      waits.push(() => waitUntilReady(client, outcome, { before, timeoutMs, io }));
    }
    if (!invocation.flags.wait || dryRun) return 0;
    const ready = await Promise.all(waits.map((wait) => wait()));
    return ready.every(Boolean) ? 0 : 1;
  },
};

/** Reads the apps of the manifests. Reports problems and `consequence`; with one, or without an app, resolves to undefined. */
export async function readApps(
  invocation: Invocation,
  io: Io,
  consequence: string,
): Promise<NCApp[] | undefined> {
  const files = await readManifestFiles(invocation, io, { namespace: textFlag(invocation, "namespace") });
  const apps = files.flatMap((file) => file.apps);
  const problems = files.flatMap((file) => file.problems);
  for (const line of [...files.flatMap((file) => file.skipped), ...problems]) io.stderr(`${line}\n`);
  if (problems.length === 0 && apps.length > 0) return apps;
  io.stderr(`nckubelet: ${consequence}${problems.length > 0 ? "" : ": there is no NCApp"}\n`);
  return undefined;
}

export async function putApp(
  client: AgentClient,
  app: NCApp,
  options: { dryRun: boolean },
): Promise<PutOutcome> {
  return await client.put(app, options).catch((cause) => {
    throw new Error(`${keyOf(app)} was not applied: ${(cause as Error).message}`, { cause });
  });
}

function describeChange({ change, restarts, app }: PutOutcome): string {
  const stopped = app.status?.reason === "StoppedByOperator"
    ? `; it stays stopped until 'nckubelet start ${shortName(nameOf(app))}'`
    : "";
  return `${change}${restarts ? "; it restarts" : ""}${stopped}`;
}

/** Waits until the app is ready, has ended, or cannot go on; reports how it is. */
async function waitUntilReady(
  client: AgentClient,
  { app, restarts }: PutOutcome,
  { before, timeoutMs, io }: { before: NodeApp | undefined; timeoutMs: number; io: Io },
): Promise<boolean> {
  const limits = { timeoutMs, signal: io.signal };
  const name = nameOf(app);
  if (restarts && before) await waitForNewRun(client, before, limits);
  const isDone = (now: NodeApp) =>
    isSettled(now) && !isOnTrial(now) && showsSuspend(now, app.spec.suspend) &&
    (now.status?.phase !== "Running" || now.status.ready === true);
  const after = await waitUntilSteady(client, name, isDone, limits);
  if (!after) return report(wasDeleted(name), io) === 0;
  const { ok, text } = after.status?.reason === "Suspended"
    ? { ok: true, text: `${keyOf(app)} is suspended, as its spec asks` }
    : describeRollback(after) ?? describeState(after);
  const isReady = ok && isDone(after);
  const lacks = isOnTrial(after) ? "on trial" : "not ready";
  const why = whileRunning(after.status ?? {});
  const late = ok && !isReady ? `, but ${lacks} after ${timeoutMs / 1000} s${why && `: ${why}`}` : "";
  return report({ ok: isReady, text: text + late }, io) === 0;
}

/** With a rollback, only a version that is good, or refused, is decided. */
function isOnTrial({ spec, status }: NodeApp): boolean {
  return spec.update?.onFailure === "Rollback" && status?.phase === "Running" &&
    status.revisions?.some(({ state }) => state === "Trial") === true;
}

function describeRollback(app: NodeApp): Outcome | undefined {
  const condition = app.status?.conditions?.find(({ type }) => type === "RolledBack");
  if (condition?.status !== "True") return undefined;
  return { ok: false, text: `${keyOf(app)} does not run what was applied: ${condition.message}` };
}

/**
 * Reports whether the status follows this `suspend`: just after a change, it is still that of the spec before. What has ended stays as
 * it is, and so does an app without a script.
 */
function showsSuspend({ status: { phase, reason } = {} }: NodeApp, suspend = false): boolean {
  if (!suspend) return reason !== "Suspended";
  return ["Stopped", "Succeeded", "Failed"].some((end) => end === phase) || reason === "NoShellFile";
}
