/** An NCAppSet with its revisions and apps on a fake API server, for the tests of `kubectl ncapp rollout`. */
import { apiVersion, setKind, setLabels } from "../../../src/api/names.ts";
import type { NCApp, NCAppSet, NCAppSetSpec, NCAppSetStatus } from "../../../src/api/types.ts";
import type { Io } from "../../../src/cli/command.ts";
import type { Revision } from "../../../src/cli/plugin/set-objects.ts";
import { controllerRevisions, ncappsets, resourcePath } from "../../../src/kube/resources.ts";
import type { AppSet } from "../../../src/sets/types.ts";
import { newRevision } from "../../../src/sets/write.ts";
import { ncapp } from "../../builders.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { withServer } from "../../kube/fake-server.ts";
import { callPlugin } from "./call-plugin.ts";

const labels = { app: "web" };
const owner = { apiVersion, kind: setKind, name: "web", uid: "set-uid", controller: true };

export interface SetChanges {
  metadata?: Partial<NCAppSet["metadata"]>;
  spec?: Partial<NCAppSetSpec>;
  status?: NCAppSetStatus;
}

/** A set of three apps in the middle of a rollout from web-old to web-new. */
export function appSet({ metadata, spec, status }: SetChanges = {}): NCAppSet {
  return {
    apiVersion,
    kind: setKind,
    metadata: { namespace: "shop", name: "web", uid: "set-uid", generation: 2, ...metadata },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { shellFile: "/srv/new.sh" } },
      ...spec,
    },
    status: {
      observedGeneration: 2,
      desired: 3,
      updated: 1,
      available: 2,
      failed: 0,
      currentRevision: "web-old",
      updateRevision: "web-new",
      stableRevision: "web-old",
      ...status,
    },
  } as NCAppSet;
}

export function condition(type: string, status: "True" | "False", reason: string, message = "") {
  return { type, status, reason, message, lastTransitionTime: "2026-11-17T00:00:00Z" };
}

/** A revision of the set, as the controller writes it. */
export function revision(number: number, name: string, more: Partial<Revision> = {}): Revision {
  const data = { metadata: { labels }, spec: { shellFile: `/srv/${name.slice(4)}.sh` } };
  const created = newRevision(appSet() as AppSet, { name, hash: name.slice(4), revision: number, data });
  const { metadata, ...fields } = created as unknown as Revision;
  const stored = { uid: `${name}-uid`, creationTimestamp: "2026-11-17T00:00:00Z" };
  return { ...fields, metadata: { ...metadata, ...stored }, ...more };
}

export function appOf(node: string, hash: string, status: NCApp["status"]): NCApp {
  return ncapp({
    metadata: {
      namespace: "shop",
      name: `web-${node}`,
      labels: { ...labels, [setLabels.revision]: hash },
      ownerReferences: [owner],
    } as NCApp["metadata"],
    spec: { nodeName: node },
    status,
  });
}

export const path = resourcePath(ncappsets, { namespace: "shop", name: "web" });

/** An API server with the set and its revisions, and with a revision of another set. */
export function createApi(
  changes?: SetChanges,
  revisions = [revision(1, "web-old"), revision(2, "web-new")],
): FakeApi {
  const api = new FakeApi();
  api.add(ncappsets, appSet(changes));
  const other = revision(7, "other-rev");
  Object.assign(other.metadata, { ownerReferences: [] });
  for (const item of [...revisions, other]) api.add(controllerRevisions, item);
  return api;
}

export const rollout = (api: FakeApi, words: string[], io?: Partial<Io>) =>
  withServer(api.answer, ({ url }) => callPlugin(url, ["rollout", ...words], io));
