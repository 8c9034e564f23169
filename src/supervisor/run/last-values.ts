/**
 * The values of Secrets and ConfigMaps that an app was last started with: it can start again while the API server does not answer.
 *
 * Guarantees: they are used only in the boot in which they were read, for the same object, and only if the server gave no answer: a
 * rejection, or a Secret that is gone, counts. They are in the private folder with the environments of the runs, in memory, and are
 * removed with the app.
 */
import { readIfExists, writeFileAtomic } from "../../lib/files.ts";
import { hasReferences } from "../../api/references.ts";
import type { EnvVar } from "../../api/types.ts";
import { type RunnableApp, UnansweredError } from "../types.ts";
import type { ResolveValue } from "./environment.ts";

/** By reference; null for an optional key that did not exist. */
type Values = Record<string, string | null>;

export interface LastValues {
  /** Asks for a value; without an answer, returns that of the last start. */
  resolve: ResolveValue;
  /** Keeps the values for the next start. Call it when the private folder exists. */
  save(): Promise<void>;
}

export interface LastValuesOptions {
  path: string;
  bootId: string;
  resolve: ResolveValue;
  /** Called for each value that is used again. */
  onReuse: (problem: UnansweredError) => void;
}

export async function openLastValues(
  app: RunnableApp,
  { path, bootId, resolve, onReuse }: LastValuesOptions,
): Promise<LastValues> {
  if (!hasReferences(app.spec)) return { resolve, save: () => Promise.resolve() };
  const owner = { bootId, uid: app.metadata.uid ?? "" };
  const before = await readIfExists(path).catch(() => undefined);
  const known = parseValues(before, owner);
  const values: Values = {};
  return {
    async resolve(app, variable) {
      const reference = referenceOf(variable);
      if (reference === undefined) return await resolve(app, variable);
      const value = await resolve(app, variable).catch((error) => {
        if (!(error instanceof UnansweredError) || !Object.hasOwn(known, reference)) throw error;
        onReuse(error);
        return known[reference] ?? undefined;
      });
      values[reference] = value ?? null;
      return value;
    },
    async save() {
      const text = JSON.stringify({ ...owner, values });
      if (text !== before) await writeFileAtomic(path, text);
    },
  };
}

function referenceOf({ valueFrom }: EnvVar): string | undefined {
  const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
  const key = secretKeyRef ?? configMapKeyRef;
  return key && JSON.stringify([secretKeyRef ? "Secret" : "ConfigMap", key.name, key.key]);
}

function parseValues(text: string | undefined, { bootId, uid }: { bootId: string; uid: string }): Values {
  try {
    const found = JSON.parse(text ?? "null");
    return found?.bootId === bootId && found.uid === uid ? found.values : {};
  } catch {
    return {};
  }
}
