/**
 * What clients of the unix socket may do to apps. The specs of only the socket's own apps are changed here: another source would
 * revert the change, so the answer names the place to make it. Orders, which change no spec, are for apps of every source.
 */
import { isDeepStrictEqual } from "node:util";
import type { Desired, RunnableApp } from "../api/app-shapes.ts";
import { appKey, keyOf, splitAppKey } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { describeError } from "../lib/log.ts";
import { waitAtMost } from "../lib/sleep.ts";
import type { ActionResult, AppActions } from "../server/services.ts";
import type { Change, SocketSource } from "../sources/socket.ts";
import { sourceNames } from "../sources/source.ts";
import { type Order, refuseOrder, runHash } from "../supervisor/decide/decide.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { AppRecord } from "../supervisor/types.ts";
import { describePortConflict, findPortConflicts } from "../sync/port-conflicts.ts";
import { toRunnable } from "../sync/runnable.ts";
import type { Sync } from "../sync/sync.ts";

export interface ActionParts {
  source: SocketSource;
  supervisor: Supervisor;
  sync: Sync;
  maxApps: number;
  nodeName: string;
}

/** How long an answer may wait until an order is on disk: the step under way may be running a stop file. */
const orderMs = 5000;

/** Returns the actions. Each resolves when the supervisor knows the desired state, not when it is reached. */
export function createAppActions(
  { source, supervisor, sync, maxApps, nodeName }: ActionParts,
): AppActions {
  /** Reports whether this agent no longer follows the app's source: then only the socket can remove the app. */
  const isOrphan = (key: string) => sync.orphans().some((app) => app.key === key);

  const perform = async (
    key: string,
    work: () => Promise<boolean | { change: Change; app: NCApp }>,
    { takesOver = false } = {},
  ): Promise<ActionResult> => {
    try {
      await source.opened();
      const owner = findOwner(key, sync, supervisor);
      if (owner && owner.source !== source.name && !(takesOver && isOrphan(key))) {
        return refuse(409, isOrphan(key) ? orphaned(key, owner) : whereToChange(key, owner));
      }
      const result = await work();
      if (result === false) return refuse(404, `ncapps "${key}" not found among the apps of the socket`);
      sync.reconcile();
      return { done: true, app: source.get(key), ...(result === true ? {} : result) };
    } catch (error) {
      return refuse(503, `${key} cannot be changed now: ${describeError(error)}`);
    }
  };
  const warningsFor = (key: string, app: RunnableApp): string[] => {
    const others = supervisor.list().filter((known) => known.key !== key);
    const conflicts = findPortConflicts([
      ...others.map(({ key, record }): [string, RunnableApp] => [key, record.app]),
      [key, app],
    ]);
    const named = app.spec.nodeName;
    return [
      ...(named && named !== nodeName
        ? [
          `spec.nodeName is ${JSON.stringify(named)}, but this node is ${
            JSON.stringify(nodeName)
          }: it runs here`,
        ]
        : []),
      ...conflicts.filter(({ keys }) => keys.includes(key)).map(describePortConflict),
    ];
  };

  /** A suspended app is started by a change of its spec. */
  const resume = (key: string): Promise<ActionResult> =>
    perform(key, () => source.edit(key, (app) => ({ ...app, spec: { ...app.spec, suspend: false } })));

  const order = (order: Order) => async (namespace: string, name: string): Promise<ActionResult> => {
    const key = appKey(namespace, name);
    const known = supervisor.get(key)?.record;
    if (!known) return refuse(404, `ncapps "${key}" not found`);
    const why = refuseOrder(known, order);
    if (why !== undefined) return refuse(409, why);
    if (known.app.spec.suspend && order !== "stop" && order !== "undo") {
      const resumed = await resume(key);
      if (!resumed.done) return { ...resumed, message: `spec.suspend is true: ${resumed.message}` };
    }
    await waitAtMost(orderMs, supervisor.order(key, order));
    return { done: true, app: supervisor.get(key)?.record.app };
  };

  return {
    async put(app, { dryRun = false } = {}) {
      const key = keyOf(app);
      const before = supervisor.get(key)?.record;
      if (!supervisor.get(key) && supervisor.list().length >= maxApps) {
        return refuse(403, `this node already has ${maxApps} apps, the most it may have (--max-apps)`);
      }
      const owner = findOwner(key, sync, supervisor);
      if (dryRun && before && owner && owner.source !== source.name && !isOrphan(key)) {
        return compare(app, before, whereToChange(key, owner));
      }
      const result = await perform(key, () => source.put(app, { dryRun }), { takesOver: true });
      if (!result.done || !result.app) return result;
      const next = toRunnable(result.app);
      const restarts = before?.run !== undefined && runHash(next) !== before.run.hash;
      return { ...result, restarts, warnings: warningsFor(key, next) };
    },
    async remove(namespace, name) {
      const key = appKey(namespace, name);
      if (isOrphan(key)) {
        supervisor.withdraw(key);
        return { done: true };
      }
      return await perform(key, () => source.remove(key));
    },
    stop: order("stop"),
    start: order("start"),
    restart: order("restart"),
    trigger: order("trigger"),
    undo: order("undo"),
    async reload(namespace, name) {
      const key = appKey(namespace, name);
      if (!supervisor.get(key)) return refuse(404, `ncapps "${key}" not found`);
      const outcome = await supervisor.reload(key);
      if ("refused" in outcome) return refuse(409, outcome.refused);
      if (outcome.type === "Warning") return refuse(500, `${key} was not reloaded: ${outcome.message}`);
      return { done: true, app: supervisor.get(key)?.record.app };
    },
  };
}

/** What a manifest would change of an app that another source has. */
function compare(app: NCApp, { app: before, run }: AppRecord, refused: string): ActionResult {
  const { uid, generation } = before.metadata;
  const next = toRunnable({ ...app, metadata: { ...app.metadata, uid, generation } });
  const written = ({ metadata: { labels = {}, annotations = {} }, spec }: RunnableApp) => ({
    labels,
    annotations,
    spec,
  });
  const isSame = isDeepStrictEqual(written(next), written(before));
  const restarts = run !== undefined && runHash(next) !== run.hash;
  return { done: true, app: next, change: isSame ? "unchanged" : "configured", restarts, refused };
}

type Owner = Pick<Desired, "source" | "origin">;

/** Returns the source that wants the app, or wanted it last. A withdrawn app has no owner. */
function findOwner(key: string, sync: Sync, supervisor: Supervisor): Owner | undefined {
  const wanted = sync.desired.union().apps.get(key);
  const record = supervisor.get(key)?.record;
  return wanted ?? (record?.withdrawn ? undefined : record);
}

function whereToChange(key: string, { source, origin }: Owner): string {
  const { namespace, name } = splitAppKey(key);
  if (source !== sourceNames.apiServer) {
    return `${key} comes from ${source}: change it in ${origin ?? source}`;
  }
  return `${key} comes from the API server: change it there, for example with kubectl edit ncapp -n ${namespace} ${name}`;
}

function orphaned(key: string, { source }: Owner): string {
  return `${key} came from ${source}, which this agent no longer follows: delete it or apply it again`;
}

function refuse(code: 403 | 404 | 409 | 500 | 503, message: string): ActionResult {
  return { done: false, code, message };
}
