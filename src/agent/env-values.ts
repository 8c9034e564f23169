/**
 * Resolves `valueFrom`: fields of the app itself, and keys of Secrets and ConfigMaps. For an app of the manifests folder, those of
 * the folder come first. Values pass from the API server or the folder to the environment of the process; no log, status or argument list has them. An UnansweredError lets the app start with the values of its
 * last start.
 */
import type { ValueHolder } from "../api/manifest/manifest.ts";
import { defaultNamespace } from "../api/names.ts";
import type { EnvVar } from "../api/types.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { hasStatus, KubeError } from "../kube/kube-error.ts";
import { configMaps, type KubeResource, resourcePath, secrets } from "../kube/resources.ts";
import { describeError } from "../lib/log.ts";
import { ownValue } from "../lib/objects.ts";
import type { FolderValues } from "../sources/folder-values.ts";
import type { ResolveValue } from "../supervisor/run/run.ts";
import { StartError, UnansweredError } from "../supervisor/types.ts";
import type { RunnableApp } from "../api/app-shapes.ts";

interface KeyHolder {
  data?: Record<string, string>;
}

export interface ValueResolverParts {
  client?: KubeClient;
  nodeName: string;
  /** The Secrets and ConfigMaps of the folder that the app comes from; undefined for an app of another source. */
  folderOf?: (app: RunnableApp) => FolderValues | undefined;
}

/** Returns the resolver of this node. */
export function createValueResolver(
  { client, nodeName, folderOf = () => undefined }: ValueResolverParts,
): ResolveValue {
  return async (app, variable, { onNode = false } = {}) => {
    const { fieldRef, secretKeyRef, configMapKeyRef } = variable.valueFrom ?? {};
    if (fieldRef) return fieldValue(app, fieldRef.fieldPath, nodeName);
    const [resource, key] = secretKeyRef
      ? [secrets, secretKeyRef] as const
      : [configMaps, configMapKeyRef] as const;
    if (!key) return undefined;
    const where = `spec.env: ${variable.name}: ${resource.kind} ${app.metadata.namespace}/${key.name}`;
    const folder = folderOf(app);
    const kept = folder && findInFolder(folder, app, secretKeyRef ? "Secret" : "ConfigMap", key.name, where);
    if (kept) {
      const bytes = kept.data.get(key.key);
      if (bytes) return new TextDecoder().decode(bytes);
      if (key.optional) return undefined;
      throw new StartError(
        "MissingKey",
        `${where} in ${folder.folder} has no key ${JSON.stringify(key.key)}`,
      );
    }
    if (!client) {
      if (key.optional) return undefined;
      throw folder
        ? new StartError("MissingKey", `${where} does not exist in ${folder.folder}`)
        : new StartError(
          "NoAPIServer",
          `${where}: this agent has no API server; apps in the folder of --manifests may use a ${resource.kind} of that folder`,
        );
    }
    if (onNode) throw new StartError("MissingKey", `${where}: the API server was not asked`);
    const data = await readData(client, resource, app, key.name, where);
    const value = data && ownValue(data, key.key);
    if (value !== undefined) return secretKeyRef ? atob64(value) : value;
    if (key.optional) return undefined;
    throw new StartError(
      "MissingKey",
      data ? `${where} has no key ${JSON.stringify(key.key)}` : `${where} does not exist`,
    );
  };
}

/** Finds what the folder has by this name; throws if it has it, but not for use. */
function findInFolder(
  folder: FolderValues,
  { metadata: { namespace = defaultNamespace } }: RunnableApp,
  kind: ValueHolder["kind"],
  name: string,
  where: string,
): ValueHolder | undefined {
  const found = folder.find({ kind, namespace, name });
  if (found === "unknown") {
    throw new UnansweredError("ValueUnavailable", `${where}: ${folder.folder} has not been read yet`);
  }
  if (found && "refused" in found) throw new StartError("ValueUnavailable", `${where}: ${found.refused}`);
  return found?.holder;
}

/** Returns the value of a field path that the schema permits. */
export function fieldValue(app: RunnableApp, path: NonNullable<EnvVar["name"]>, nodeName: string): string {
  const { metadata, spec } = app;
  const entry = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (entry) return ownValue(metadata[entry[1] as "labels" | "annotations"] ?? {}, entry[2] ?? "") ?? "";
  const fields: Record<string, unknown> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace,
    "metadata.uid": metadata.uid,
    "spec.nodeName": nodeName,
    "spec.cpuPCT": spec.cpuPCT,
    "spec.memPCT": spec.memPCT,
  };
  return String(fields[path] ?? "");
}

async function readData(
  client: KubeClient,
  resource: KubeResource,
  app: RunnableApp,
  name: string,
  where: string,
): Promise<Record<string, string> | undefined> {
  const path = resourcePath(resource, { namespace: app.metadata.namespace, name });
  try {
    return (await client.request<KeyHolder>({ path })).data ?? {};
  } catch (cause) {
    if (hasStatus(cause, 404)) return undefined;
    if (hasStatus(cause, 403)) {
      throw new StartError(
        "WaitingForSecrets",
        `${where}: waiting until the controller identities lets this node read it`,
        { cause },
      );
    }
    const Problem = wasUnanswered(cause) ? UnansweredError : StartError;
    throw new Problem("ValueUnavailable", `${where}: ${describeError(cause)}`, { cause });
  }
}

/** Reports whether the server did not answer or failed itself, as opposed to a rejection. */
function wasUnanswered(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  const { status = 0, reason } = error;
  return status === 429 || status >= 500 || (status < 400 && ["Timeout", "Unreachable"].includes(reason));
}

function atob64(text: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}
