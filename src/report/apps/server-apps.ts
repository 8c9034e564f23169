import { isMirrorOf, keyOf, ownerSet } from "../../api/names.ts";
import { pinnedBy, whyStays } from "../../api/placement/placement.ts";
import type { NCApp } from "../../api/types.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { ncapps } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import { sleep } from "../../lib/sleep.ts";
import type { MirrorsOptions, ServerApp } from "../mirrors/mirrors.ts";
import type { ShownApp } from "../pods/pods.ts";
import { refOf, type Releases, type ReportTarget, type StatusReporter } from "../status/status.ts";

/** An app of this node as reports need it. The wiring makes it from the supervisor's. */
export interface ReportedApp extends Omit<ShownApp, "owner" | "movable" | "set"> {
  key: string;
  /** It comes from a file, a URL or the socket: in the API server a mirror shows it. */
  isLocal: boolean;
  /** What `status.nodeName` is to say; undefined while another node holds the app. */
  holder: string | undefined;
  /** Its state usually lasts milliseconds. */
  isPassing: boolean;
}

/** What the API server says about an app that its node does not keep. */
export type PodFacts = Required<Pick<ShownApp, "movable">> & Pick<ShownApp, "set">;

/** The apps of this node now. */
export interface AppsHere {
  get(key: string): ReportedApp | undefined;
  list(): ReportedApp[];
  /** Reports whether it is unknown what runs of the app. */
  isOnHold(app: NCApp): boolean;
}

export interface ServerAppsOptions extends Pick<MirrorsOptions, "client" | "node" | "namespace" | "log"> {
  apps: AppsHere;
  reporter: StatusReporter;
  releases: Releases;
  signal: AbortSignal;
}

/** When to ask again which apps an earlier agent did not release. */
const leftoversRetryMs = 30_000;

/**
 * What the API server has for this node, and the apps that leave it: one that was unbound or deleted is released when nothing of it
 * is left here.
 */
export class ServerApps {
  readonly #options: ServerAppsOptions;
  /** By uid: mirrors whole, of apps only the identity. */
  #known = new Map<string, ServerApp>();
  isListed = false;
  /** By uid, until nothing of the app is left. */
  readonly #facts = new Map<string, PodFacts>();
  /** Apps that were unbound or deleted and may not have stopped yet, by key. */
  readonly #leaving = new Map<string, ReportTarget>();

  constructor(options: ServerAppsOptions) {
    this.#options = options;
  }

  factsOf(uid: string | undefined): PodFacts | undefined {
    return this.#facts.get(uid ?? "");
  }

  list(): ServerApp[] {
    return [...this.#known.values()];
  }

  /** These are all. */
  replace(apps: NCApp[]): void {
    const before = this.#known;
    this.#known = new Map();
    if (!this.isListed) void this.#releaseLeftovers();
    this.isListed = true;
    for (const app of apps) this.see(app);
    for (const [uid, app] of before) if (!this.#known.has(uid)) this.#lose(app);
  }

  see(app: NCApp): void {
    const { node, releases, reporter } = this.#options;
    const { metadata, apiVersion, kind } = app;
    this.#facts.set(metadata.uid ?? "", factsOf(app));
    const kept = isMirrorOf(node, app) ? app : { apiVersion, kind, metadata: refOf(app), spec: {} };
    this.#known.set(metadata.uid ?? "", kept as ServerApp);
    releases.cancel(metadata.uid ?? "");
    reporter.objectSeen(refOf(app), app.status);
  }

  /** The object with this uid was deleted, or bound to another node. */
  remove(uid: string): void {
    const app = this.#known.get(uid);
    if (app) this.#lose(app);
    this.#known.delete(uid);
  }

  /** Nothing of the app with this key is left here. */
  release(key: string, app: ReportTarget): void {
    this.#leaving.delete(key);
    if (!this.#known.has(app.uid)) this.#facts.delete(app.uid);
    this.#options.releases.stopped(app);
  }

  /** Releases an app whose name another one has here now. */
  releaseOther(key: string, uid: string | undefined): void {
    const left = this.#leaving.get(key);
    if (left && left.uid !== uid) this.release(key, left);
  }

  #lose(app: ServerApp): void {
    const [key, ref] = [keyOf(app), refOf(app)];
    this.#options.reporter.objectLost(ref);
    if (!this.#isHere(app)) return void this.#facts.delete(ref.uid);
    this.#leaving.set(key, ref);
    this.#options.releases.stopping(ref);
  }

  #isHere(app: NCApp): boolean {
    const known = this.#options.apps.get(keyOf(app));
    return known?.isLocal === false && known.app.metadata.uid === app.metadata.uid;
  }

  /** Releases what an earlier agent has stopped without reporting it, or does not remember. */
  async #releaseLeftovers(): Promise<void> {
    const { client, node, namespace, log, apps, releases, signal } = this.#options;
    const isHeld = ({ spec, status }: NCApp) => status?.nodeName === node && spec.nodeName !== node;
    const list = (fieldSelector?: string) =>
      listAll<NCApp>(client, { resource: ncapps, namespace, fieldSelector, filter: isHeld, signal });
    while (!signal.aborted) {
      try {
        const { items } = await list(`status.nodeName=${node}`).catch((error) => {
          // Servers before 1.31, and older CRDs, cannot select by this field.
          if (hasStatus(error, 400)) return list();
          throw error;
        });
        // What runs of an app on hold is unknown: this node keeps it until an operator has restored or removed its record.
        for (const app of items.filter((app) => !apps.isOnHold(app))) {
          releases[this.#isHere(app) ? "stopping" : "stopped"](refOf(app));
        }
        return;
      } catch (error) {
        log.debug("cannot list the apps that this node still holds; retrying", { error });
      }
      await sleep(leftoversRetryMs, signal);
    }
  }
}

/** An app whose node another client chose stays there, as one that the scheduler must not move. */
function factsOf(app: NCApp): PodFacts {
  const set = ownerSet(app);
  return {
    movable: whyStays(app) === undefined && pinnedBy(app) === undefined,
    ...(set ? { set: { name: set.name, uid: set.uid } } : {}),
  };
}
