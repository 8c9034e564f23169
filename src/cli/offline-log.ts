/** The log of an app of this node while no agent runs: read from the files that the app writes itself. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { appFileName } from "../api/app-file-name.ts";
import { logFolder } from "../supervisor/layout.ts";
import { hasPreviousRun, readLog } from "../supervisor/logs/logs.ts";
import type { LogOptions } from "./agent-api/agent-api.ts";
import { type AppName, fullName } from "./app-name.ts";
import type { Io } from "./command.ts";
import { readAgentSettings } from "./config/config.ts";

/** Yields the log. If there is none, throws `cause`, which says that no agent is running. */
export async function* readOfflineLog(
  app: AppName,
  { sinceSeconds, sinceTime, run: _, ...options }: LogOptions,
  { env, stderr }: Pick<Io, "env" | "stderr">,
  cause: unknown,
): AsyncGenerator<Uint8Array> {
  const { logDir, stateDir } = await readAgentSettings({}, env);
  const folder = logFolder({ logDir, stateDir }, appFileName(app.namespace, app.name));
  const isThere = await access(folder).then(() => true, () => false);
  if (!isThere) throw cause;
  if (options.previous && !await hasPreviousRun(folder)) {
    throw new Error(`the log of ${fullName(app)} has no run before the current or last one`);
  }
  stderr(`nckubelet: no agent is running; reading ${join(folder, "app.log")}\n`);
  const since = sinceSeconds === undefined ? sinceTime : Date.now() - 1000 * sinceSeconds;
  yield* readLog(folder, { ...options, ...(since === undefined ? {} : { sinceTime: new Date(since) }) });
}
