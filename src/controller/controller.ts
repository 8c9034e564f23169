/**
 * The cluster side: `nckubelet controller` runs several controllers in one process, behind one election.
 *
 * All of them follow the cluster always, and work while the process leads (`elect.ts`). Each is an entry of the table in
 * `controllers.ts`. If one fails, all end, and the process with them: half of them would be worse than none, and its supervisor
 * starts it again while a standby leads.
 */
import type { Hono } from "hono";
import { systemNamespace } from "../api/names.ts";
import { createHub } from "../kube/follower.ts";
import type { LeaderOptions } from "../kube/leader.ts";
import type { CredentialTimes } from "../server/credential-times.ts";
import {
  type ControllerName,
  controllerNames,
  type ControllerSettings,
  controllerTable,
  usualControllers,
} from "./controllers.ts";
import { type Elected, leadTogether, workTogether } from "./elect.ts";
import { warnOfMissingRights } from "./rights.ts";
import { type AuthorizePath, type ControllerView, createControllerApp } from "./serve.ts";

export { type ControllerName, controllerNames, usualControllers } from "./controllers.ts";
export type { Elected } from "./elect.ts";
export { rightsOf } from "./rights.ts";
export { openControllerListeners } from "./open-listeners.ts";

export interface RunOptions extends ControllerSettings {
  version: string;
  /** Identifies this process in the election; must be unique. */
  identity: string;
  /** False: work without an election. Two schedulers bind no app twice, since binds are conditional, but may overcommit a node. */
  leaderElect: boolean;
  /** Overrides the times of the election: 15 s, 10 s and 2 s. */
  election?: Pick<LeaderOptions, "leaseSeconds" | "renewDeadlineMs" | "retryMs">;
  /** Starts the HTTP endpoint; without it there is none. With an argument, `createApp` serves only those whom it allows. */
  serve?: (createApp: (authorize?: AuthorizePath) => Hono) => Promise<{ close(): Promise<void> }>;
  /** The ports of the endpoint that are not open, by their address, with the reason. */
  ports?: ReadonlyMap<string, string>;
  credentials?: CredentialTimes;
}

/** Runs these controllers until the signal aborts; throws if one fails. */
export async function runController(
  { names = usualControllers, ...options }: RunOptions & { names?: readonly ControllerName[] },
  signal: AbortSignal,
): Promise<void> {
  await runControllers(await createControllers(names, options), options, signal);
}

/** Creates the controllers with these names, in the order of the table. Nothing happens before they run. */
export async function createControllers(
  names: readonly ControllerName[],
  settings: ControllerSettings,
): Promise<Elected[]> {
  const hub = createHub(settings.client, settings.log);
  return await Promise.all(
    controllerNames.filter((name) => names.includes(name)).map(async (name) => ({
      controller: await controllerTable[name].load({ hub, ...settings }),
      lease: controllerTable[name].lease(settings),
    })),
  );
}

export async function runControllers(
  elected: readonly Elected[],
  options: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, log, version, identity, leaderElect, ports, credentials } = options;
  const controllers = elected.map(({ controller }) => controller);
  let isLeading = !leaderElect;
  const view: ControllerView = {
    log,
    version,
    identity,
    startedAt: new Date(),
    controllers,
    isLeading: () => isLeading,
    ports,
    credentials,
  };
  const server = await options.serve?.((authorize) => createControllerApp(view, authorize));

  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const election = { ...options.election, namespace: systemNamespace, identity, log };
  const parts = [
    ...controllers.map((controller) => controller.follow(until)),
    leaderElect
      ? leadTogether(client, elected, election, until, (leading) => void (isLeading = leading))
      : workTogether(controllers, { signal: until, isLeader: () => !until.aborted }),
    ...(leaderElect ? [warnOfMissingRights(elected, options, until)] : []),
  ];
  try {
    await Promise.all(parts);
  } finally {
    failed.abort();
    await Promise.allSettled(parts);
    await server?.close();
  }
}
