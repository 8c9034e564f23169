/**
 * Shows local apps in the API server, so that `kubectl get ncapp` lists them.
 *
 * Guarantees: a mirror never starts or stops an app; one that a user deletes or edits is restored; only mirrors of this node are
 * touched, each by its uid. One request at a time; a failed one is retried by a later sync, after waits that grow to five minutes.
 * In a namespace where agents may not write mirrors, this is logged once, and one request every five minutes finds out when they may.
 * Caveats: an object that has the form of a mirror without its uid, and no local app, is left alone: it does not run. An
 * agent that watches one namespace mirrors only the apps of that one: it would not see changes of a mirror elsewhere.
 *
 * The keyed writer does not fit: one plan covers all apps, an app may need several writes in order, and every sync plans again.
 */
import {
  agentAccounts,
  agentGroup,
  annotations,
  defaultNamespace,
  isMirrorOf,
  isProvenMirror,
  keyOf,
  splitAppKey,
} from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { hasStatus, isOutdated, wasAnswered } from "../../kube/kube-error.ts";
import { isLater } from "../../kube/resource-version.ts";
import { ncapps } from "../../kube/resources.ts";
import { type Backoff, createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";
import {
  type MirrorAction,
  mirrorsByApp,
  planMirrors,
  type ServerApp,
  uidAnnotation,
} from "./mirror-plan.ts";
import { refOf, type ReportTarget } from "../status/status.ts";

export type { ServerApp } from "./mirror-plan.ts";

export interface Mirrors {
  /**
   * Updates the mirrors to match the local apps, including those that are stopping. `existing`: the NCApps of this node at the API
   * server; `complete`: all local sources have been read. Never throws; call it again with every change and every sync.
   */
  sync(local: NCApp[], existing: ServerApp[], complete: boolean): Promise<void>;
  /** Returns the mirror of a local app, by the app's key: its status and its events go there. */
  targetOf(key: string): ReportTarget | undefined;
}

export interface MirrorsOptions {
  client: KubeClient;
  node: string;
  log: Logger;
  /** The only namespace that `existing` covers; undefined: all. */
  namespace?: string;
  /** The mirror of an app exists, or is another object than before. */
  onFound?: (key: string, mirror: ServerApp) => void;
  /** For waits. */
  now?: () => number;
  signal?: AbortSignal;
}

/** How long the watch may take to deliver a write. */
const freshMs = 10_000;
/** After a namespace refused a mirror, the next attempt comes after this time. */
const deniedMs = 300_000;

export function createMirrors(options: MirrorsOptions): Mirrors {
  const { client, node, log, namespace, onFound = () => {}, now = steadyNow, signal } = options;
  const taken = new Set<string>();
  const written = new Map<string, number | undefined>();
  const fresh = new Map<string, { mirror: ServerApp; until: number }>();
  const waits = new Map<string, { until: number; backoff: Backoff }>();
  let targets = new Map<string, ReportTarget>();
  let leftOut = new Set<string>();
  let unproven = new Set<string>();
  /** Namespaces in which this agent may not write mirrors, and when the next attempt is due. */
  const denied = new Map<string, number>();
  let next: Parameters<Mirrors["sync"]> | undefined;
  let working: Promise<void> | undefined;

  const objects = objectsOf<ServerApp>(client, ncapps, { signal });

  const applyAnswer = (key: string, mirror: ServerApp) => {
    written.set(mirror.metadata.uid, mirror.metadata.generation);
    fresh.set(mirror.metadata.uid, { mirror, until: now() + freshMs });
    const before = targets.get(key);
    targets.set(key, refOf(mirror));
    if (before?.uid !== mirror.metadata.uid) onFound(key, mirror);
  };

  /** Returns what the server has, including recent writes that the watch has not delivered yet. */
  const known = (existing: ServerApp[]): ServerApp[] => {
    const all = new Map(existing.map((app) => [app.metadata.uid, app]));
    for (const [uid, { mirror, until }] of fresh) {
      const seen = all.get(uid);
      if (
        now() >= until || seen && !isLater(mirror.metadata.resourceVersion, seen.metadata.resourceVersion)
      ) fresh.delete(uid);
      else all.set(uid, mirror);
    }
    for (const uid of written.keys()) if (!all.has(uid)) written.delete(uid);
    return [...all.values()];
  };

  const create = async (key: string, body: NCApp) => {
    try {
      const mirror = await objects.create(body);
      applyAnswer(key, mirror);
      const { namespace, name, uid } = mirror.metadata;
      const patch = { metadata: { annotations: uidAnnotation(uid) } };
      // Of any version: its first status may be there already. Without its uid it would stay if its app went now.
      const patched = await objects.patch({ namespace, name, uid }, patch).catch(ignoreOutdated);
      if (patched) applyAnswer(key, patched);
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
      // It may be this node's own mirror, which the watch has not delivered yet.
      const other = await objects.read(body.metadata);
      if (!other || isMirrorOf(node, other)) return;
      if (taken.has(key)) throw error;
      taken.add(key);
      log.warn("the name of a local app is taken in the API server; its mirror gets another", { app: key });
    }
  };

  const change = async (action: Exclude<MirrorAction, { kind: "create" }>) => {
    const { metadata } = action.mirror;
    const { namespace, name, uid } = metadata;
    try {
      if (action.kind === "update") applyAnswer(action.key, await objects.patch(metadata, action.patch));
      else {
        await objects.remove({ namespace, name, uid });
        fresh.delete(uid);
      }
    } catch (error) {
      ignoreOutdated(error);
    }
  };

  /** Reports whether the API server answered; a rejection is also an answer. */
  const attempt = async (action: MirrorAction): Promise<boolean> => {
    const wait = waits.get(action.key) ??
      { until: 0, backoff: createBackoff({ initialMs: 1000, maxMs: 300_000, jitter: 0.5 }) };
    const { namespace } = splitAppKey(action.key);
    if (now() < Math.max(wait.until, denied.get(namespace) ?? 0)) return true;
    try {
      await (action.kind === "create" ? create(action.key, action.body) : change(action));
      waits.delete(action.key);
      denied.delete(namespace);
      return true;
    } catch (error) {
      if (signal?.aborted) return false;
      if (isDenied(error)) {
        if (!denied.has(namespace)) logDenied(namespace);
        denied.set(namespace, now() + deniedMs);
        return true;
      }
      wait.until = now() + wait.backoff.next();
      waits.set(action.key, wait);
      log.warn(`cannot ${action.kind} the mirror of a local app; retrying`, { app: action.key, error });
      return wasAnswered(error);
    }
  };

  const logDenied = (namespace: string) =>
    log.info("agents may not write mirrors in this namespace; kubectl does not show its local apps", {
      namespace,
      hint: `to allow it: kubectl -n ${namespace} create rolebinding nckubelet-mirror ` +
        `--clusterrole=nckubelet-mirror --group=${agentGroup} --group=${agentAccounts}`,
    });

  /** Logs each object once that has the form of a mirror, no uid in it, and no local app. */
  const logUnproven = (mirrors: Map<string, ServerApp[]>, local: NCApp[]) => {
    const keys = new Set(local.map(keyOf));
    const left = [...mirrors].filter(([key]) => !keys.has(key)).flatMap(([, list]) => list)
      .filter((app) => !isProvenMirror(app)).map(keyOf);
    for (const app of left.filter((key) => !unproven.has(key))) {
      const hint = `delete it, or remove its annotation ${annotations.mirror} to run it`;
      log.warn("an NCApp has the form of a mirror, but no local app: it does not run", { app, hint });
    }
    unproven = new Set(left);
  };

  /** Returns the apps that get a mirror; logs once for each other one. */
  const shownOf = (apps: NCApp[]): NCApp[] => {
    if (!namespace) return apps;
    const isShown = ({ metadata }: NCApp) => (metadata.namespace || defaultNamespace) === namespace;
    const others = apps.filter((app) => !isShown(app)).map(keyOf);
    for (const app of others.filter((key) => !leftOut.has(key))) {
      log.info("a local app has no mirror: this agent watches another namespace", { app, namespace });
    }
    leftOut = new Set(others);
    return apps.filter(isShown);
  };

  const round = async ([wanted, listed, complete]: Parameters<Mirrors["sync"]>) => {
    const local = shownOf(wanted);
    const existing = known(listed);
    const mirrors = mirrorsByApp(existing, node);
    const before = targets;
    targets = new Map([...mirrors].map(([key, [mirror]]) => [key, refOf(mirror!)]));
    for (const [key, [mirror]] of mirrors) {
      if (before.get(key)?.uid !== mirror!.metadata.uid) onFound(key, mirror!);
    }
    const actions = planMirrors(local, existing, { node, complete, taken, written });
    forgetOthers(waits, actions);
    if (complete) logUnproven(mirrors, local);
    for (const action of actions) {
      // If one request gets no answer the others get none either, each after its full timeout.
      if (signal?.aborted || next || !await attempt(action)) return;
    }
  };

  return {
    targetOf: (key) => targets.get(key),
    sync(...wanted) {
      next = wanted;
      working ??= (async () => {
        while (next && !signal?.aborted) {
          const current = next;
          next = undefined;
          await round(current);
        }
        working = undefined;
      })();
      return working;
    },
  };
}

/** It is gone, changed, or another object has its name: the watch delivers that, and the next plan uses it. */
function ignoreOutdated(error: unknown): void {
  if (!isOutdated(error)) throw error;
}

/** Reports whether a right is missing, which holds for all apps of a namespace. Policies and quotas also answer with 403. */
function isDenied(error: unknown): boolean {
  return hasStatus(error, 403) && /cannot \w+ resource/.test((error as Error).message);
}

/** Drops the waits of apps that need no action. */
function forgetOthers(waits: Map<string, unknown>, actions: MirrorAction[]): void {
  const needed = new Set(actions.map(({ key }) => key));
  for (const key of waits.keys()) if (!needed.has(key)) waits.delete(key);
}
