import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { RunnableApp } from "../api/app-shapes.ts";
import { keyOf } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { pathDigest } from "../lib/files.ts";
import type { FolderValues } from "../sources/folder-values.ts";
import { sourceNames } from "../sources/source.ts";
import { createScriptFetcher } from "../supervisor/script/script.ts";
import { Supervisor, type SupervisorOptions } from "../supervisor/supervisor.ts";
import { createValueResolver } from "./env-values.ts";
import type { AgentOptions } from "./options.ts";

/** Where `valueFrom` finds Secrets and ConfigMaps; the folder's are only for the apps of the folder. */
export interface ValueSources {
  client?: KubeClient;
  values?: FolderValues;
}

/** Returns a supervisor that has taken over nothing yet. */
export function createSupervisor(
  options: AgentOptions,
  { confinement, launcher, decorate }: Pick<SupervisorOptions, "confinement" | "launcher" | "decorate">,
  { client, values }: ValueSources = {},
): Supervisor {
  const { stateDir, logDir, nodeName, enforce, logs, log } = options;
  // An app of another source may have been written by a user who may not read the folder.
  const folderOf = (app: RunnableApp) =>
    supervisor.get(keyOf(app))?.record.source === sourceNames.manifests ? values : undefined;
  const supervisor: Supervisor = new Supervisor({
    layout: { stateDir, logDir, privateDir: privateFolder(options) },
    confinement,
    launcher,
    decorate,
    nodeName,
    enforce,
    logs,
    log,
    resolveValue: createValueResolver({ client, nodeName, folderOf }),
    fetchScript: createScriptFetcher({
      cacheDir: join(stateDir, "scripts"),
      onStale: ({ message }) => log.warn("using a cached copy of a script", { why: message }),
    }),
  });
  return supervisor;
}

/**
 * Returns the folder for what must not reach a disk: beside the agent's socket, which is in memory (/run) by default. The
 * name has a digest of the state folder, so that agents with sockets in one folder do not share it.
 */
export function privateFolder(
  { socket, stateDir }: Pick<AgentOptions, "socket" | "stateDir">,
  isRoot: boolean = process.geteuid?.() === 0,
): string {
  const runtime = socket ? dirname(resolve(socket)) : isRoot ? "/run/nckubelet" : resolve(stateDir);
  return join(runtime, `private-${pathDigest(stateDir)}`);
}
