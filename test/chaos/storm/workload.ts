/**
 * Manages the apps of a storm in the API server. Changes run one at a time, and each is retried until the server accepts it, so
 * that the desired state is always known.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { annotations, apiVersion } from "../../../src/api/names.ts";
import type { NCApp } from "../../../src/api/types.ts";
import type { Cluster } from "../../harness/cluster.ts";
import { crdFolder } from "../../harness/install-crd.ts";
import { type KindName, kinds, specOf } from "./kinds.ts";
import { ask, type StormApp } from "./ledger.ts";

const path = `/apis/${apiVersion}/namespaces/default/ncapps`;
const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ncapps.app.example.com";
const patienceMs = 150_000;
const mergePatch = "application/merge-patch+json";

export class Workload {
  readonly apps = new Map<string, StormApp>();
  readonly past: StormApp[] = [];
  readonly #cluster: Cluster;
  readonly #witness: Record<string, string>;
  #last: Promise<unknown> = Promise.resolve();
  #created = 0;

  /** `witness` is put into the environment of every app. */
  constructor(cluster: Cluster, witness: Record<string, string>) {
    this.#cluster = cluster;
    this.#witness = witness;
  }

  /** The number of apps created so far. */
  get created(): number {
    return this.#created;
  }

  /** The apps sorted by name, so that choices depend only on the seed. */
  list(...only: KindName[]): StormApp[] {
    const apps = [...this.apps.values()].sort((a, b) => a.name < b.name ? -1 : 1);
    return only.length === 0 ? apps : apps.filter(({ kind }) => only.includes(kind));
  }

  /** Runs changes one at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }

  async create(kind: KindName, name = `${kind}-${this.#created + 1}`): Promise<void> {
    this.#created++;
    const app: StormApp = { name, kind, uid: "", asks: [], suspended: false };
    const object = {
      apiVersion,
      kind: "NCApp",
      metadata: { name, annotations: kinds[kind].annotations },
      spec: specOf(kind, this.#witness),
    };
    const created = await this.#until(`create ${name}`, async () => {
      const { status, body } = await this.#cluster.request(path, { method: "POST", body: object });
      if (status === 201) return JSON.parse(body) as NCApp;
      if (status !== 409) return undefined;
      // An earlier attempt succeeded, and its answer was lost; or an app of this name has not stopped yet.
      const found = await this.#get(name);
      return found?.metadata.deletionTimestamp ? undefined : found;
    });
    app.uid = created.metadata.uid ?? "";
    this.apps.set(name, app);
  }

  async remove(app: StormApp): Promise<void> {
    ask(app, "delete");
    this.apps.delete(app.name);
    this.past.push(app);
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid: app.uid } };
    await this.#until(`delete ${app.name}`, async () => {
      const { status } = await this.#cluster.request(`${path}/${app.name}`, { method: "DELETE", body });
      return [200, 404, 409].includes(status);
    });
  }

  /** Deletes an app and recreates its name at once. */
  async recreate(app: StormApp): Promise<void> {
    await this.remove(app);
    await this.create(app.kind, app.name);
  }

  async restart(app: StormApp, token: string): Promise<void> {
    ask(app, "restart");
    await this.#patch(app, { metadata: { annotations: { [annotations.restartedAt]: token } } });
  }

  /** Changes a share, which applies live, without a restart. */
  async resize(app: StormApp, cpuPCT: string): Promise<void> {
    app.cpuPCT = cpuPCT;
    await this.#patch(app, { spec: { cpuPCT } });
  }

  async suspend(app: StormApp, suspend: boolean): Promise<void> {
    if (suspend) ask(app, "suspend");
    app.suspended = suspend;
    await this.#patch(app, { spec: { suspend } });
  }

  /** Deletes the CRD, which deletes every app, and recreates all of them. */
  async churnCrd(): Promise<void> {
    const gone = this.list();
    for (const app of gone) {
      ask(app, "delete");
      this.apps.delete(app.name);
      this.past.push(app);
    }
    await this.#until("delete the CRD", async () => {
      await this.#cluster.request(crdPath, { method: "DELETE" });
      return (await this.#cluster.request(crdPath)).status === 404;
    });
    await this.#until("create the CRD", async () => {
      const crd = join(crdFolder(this.#cluster), "ncapp.yaml");
      const applied = await this.#cluster.kubectl(["apply", "-f", crd], { allowFail: true });
      return applied.code === 0 && (await this.#cluster.request(path)).status === 200;
    });
    for (const app of gone) await this.create(app.kind, app.name);
  }

  /** Deletes every app; ignores a server that does not answer. */
  async removeAll(): Promise<void> {
    for (const app of this.list()) {
      ask(app, "delete");
      this.apps.delete(app.name);
      this.past.push(app);
    }
    await this.#cluster.request(path, { method: "DELETE" }).catch(() => {});
  }

  /** Returns the apps of the API server; undefined while it does not answer. */
  async objects(): Promise<NCApp[] | undefined> {
    try {
      const { status, body } = await this.#cluster.request(path, { timeoutMs: 5000 });
      return status === 200 ? (JSON.parse(body) as { items: NCApp[] }).items : undefined;
    } catch {
      return undefined;
    }
  }

  async #get(name: string): Promise<NCApp | undefined> {
    const { status, body } = await this.#cluster.request(`${path}/${name}`);
    return status === 200 ? JSON.parse(body) : undefined;
  }

  async #patch(app: StormApp, body: object): Promise<void> {
    const carrying = { ...body, metadata: { ...(body as Partial<NCApp>).metadata, uid: app.uid } };
    await this.#until(`patch ${app.name}`, async () => {
      const { status } = await this.#cluster.request(`${path}/${app.name}`, {
        method: "PATCH",
        body: carrying,
        contentType: mergePatch,
      });
      return status === 200;
    });
  }

  async #until<T>(what: string, attempt: () => Promise<T | undefined | false>): Promise<T> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      // Throws while a fault keeps the server down, as expected.
      const done = await attempt().catch(() => undefined);
      if (done !== undefined && done !== false) return done;
      if (Date.now() > deadline) throw new Error(`cannot ${what} within ${patienceMs / 1000} s`);
      await pause(250);
    }
  }
}
