/** The digest of everything that the running script was given: a spec with another digest means a restart. */
import { createHash } from "node:crypto";
import { annotations } from "../../api/names.ts";
import { memoize } from "../../lib/memoize.ts";
import type { RunnableApp } from "../types.ts";

/** A short digest of what runs; limits, probes, policies and schedules are not part of it, since they change live. */
export const runHash: (app: RunnableApp) => string = memoize((app) => {
  const { shellFile, shellFileSHA256, args, env, envFile, workingDir, runAsUser, runAsGroup } = app.spec;
  const restartedAt = app.metadata.annotations?.[annotations.restartedAt];
  const what = [shellFile, shellFileSHA256, args, env, workingDir, runAsUser, runAsGroup, restartedAt];
  // Apps without one keep the digest that an earlier agent gave their runs.
  if (envFile) what.push(envFile);
  return createHash("sha256").update(JSON.stringify(what.map(orNull))).digest("hex").slice(0, 16);
});

/** An empty list and a missing one mean the same. */
function orNull(part: unknown): unknown {
  return part === "" || (Array.isArray(part) && part.length === 0) ? null : part ?? null;
}
