/**
 * What clients of the unix socket may do to apps. Only apps of the socket itself are changed here: another source would revert
 * the change, so the answer names the place to make it.
 */
import { annotations, appKey, keyOf, splitAppKey } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { describeError } from "../lib/log.ts";
import type { ActionResult, AppActions } from "../server/services.ts";
import type { SocketSource } from "../sources/socket.ts";
import { sourceNames } from "../sources/source.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Sync } from "../sync/sync.ts";

export interface ActionParts {
  source: SocketSource;
  supervisor: Supervisor;
  sync: Sync;
  maxApps: number;
  now?: () => number;
}

/** Returns the actions. Each resolves when the supervisor knows the desired state, not when it is reached. */
export function createAppActions(
  { source, supervisor, sync, maxApps, now = Date.now }: ActionParts,
): AppActions {
  const hasEnded = (key: string) => ["Succeeded", "Failed"].includes(supervisor.get(key)?.record.phase ?? "");

  /** Reports whether this agent no longer follows the app's source: then only the socket can remove the app. */
  const isOrphan = (key: string) => sync.orphans().some((app) => app.key === key);

  const perform = async (
    key: string,
    work: () => Promise<boolean | { created: boolean }>,
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
      return { done: true, created: result !== true && result.created, app: source.get(key) };
    } catch (error) {
      return refuse(503, `${key} cannot be changed now: ${describeError(error)}`);
    }
  };
  const edit = (namespace: string, name: string, change: (app: NCApp, key: string) => NCApp) => {
    const key = appKey(namespace, name);
    return perform(key, () => source.edit(key, (app) => change(app, key)));
  };
  const suspended = (app: NCApp, suspend: boolean): NCApp => ({ ...app, spec: { ...app.spec, suspend } });
  const restarted = (app: NCApp): NCApp => {
    const notes = { ...app.metadata.annotations, [annotations.restartedAt]: new Date(now()).toISOString() };
    return { ...app, metadata: { ...app.metadata, annotations: notes } };
  };

  return {
    async put(app) {
      const key = keyOf(app);
      if (!supervisor.get(key) && supervisor.list().length >= maxApps) {
        return refuse(403, `this node already has ${maxApps} apps, the most it may have (--max-apps)`);
      }
      return await perform(key, () => source.put(app), { takesOver: true });
    },
    async remove(namespace, name) {
      const key = appKey(namespace, name);
      if (isOrphan(key)) {
        supervisor.withdraw(key);
        return { done: true, created: false };
      }
      return await perform(key, () => source.remove(key));
    },
    stop: (namespace, name) => edit(namespace, name, (app) => suspended(app, true)),
    // An app that has ended stays so until its spec or annotations change: starting it means restarting it.
    start: (namespace, name) =>
      edit(namespace, name, (app, key) => suspended(hasEnded(key) ? restarted(app) : app, false)),
    restart: (namespace, name) => edit(namespace, name, (app) => suspended(restarted(app), false)),
  };
}

interface Owner {
  source: string;
  origin?: string;
}

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

function refuse(code: 403 | 404 | 409 | 503, message: string): ActionResult {
  return { done: false, code, message };
}
