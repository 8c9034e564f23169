/** What a handler gets of its request, and the checks that several share. */
import type { Context } from "hono";
import type { IncomingMessage } from "node:http";
import { podContainer } from "../../api/names.ts";
import type { ConnectionEnv } from "../access.ts";
import { Refusal } from "../refusal.ts";
import { requireCapacity } from "../routes/routes.ts";
import type { TakeOver } from "../listen/listen.ts";
import type { ClientLimit } from "../services.ts";
import type { AgentView, AppView } from "../view.ts";
import type { KubeletServices } from "./services.ts";

export interface KubeletEnv {
  Bindings: ConnectionEnv & {
    incoming?: IncomingMessage;
    /** Set for a request that asks for another protocol. */
    takeOver?: TakeOver;
  };
}

export type KubeletContext = Context<KubeletEnv>;

/** The app that the path's Pod stands for. */
export function requireApp({ req }: KubeletContext, { view, pods }: KubeletServices): AppView {
  const { namespace = "", pod = "" } = req.param() as Record<string, string>;
  const names = pods.appOfPod(namespace, pod);
  const app = names && view.app(names.namespace, names.name);
  if (app) return app;
  throw new Refusal(404, `pods "${namespace}/${pod}" not found on node ${view.node}`, { name: pod });
}

/** The same for a path with a container. */
export function requireContainer(context: KubeletContext, services: KubeletServices): AppView {
  const app = requireApp(context, services);
  const { pod = "", container = "" } = context.req.param() as Record<string, string>;
  if (container === podContainer) return app;
  throw new Refusal(
    404,
    `container ${JSON.stringify(container)} of pod ${pod}: its container is "${podContainer}"`,
    {
      name: pod,
    },
  );
}

/** The run of an app that a command can enter. */
export function requireRun({ app, status, run }: AppView): NonNullable<AppView["run"]> {
  if (run) return run;
  const { namespace = "default", name } = app.metadata;
  const why = status.message ? ` (${status.message})` : "";
  throw new Refusal(409, `ncapp ${namespace}/${name} is ${status.phase}${why}, not running`, { name });
}

/** Counts one more client, before anything else is awaited: others may be authorized at the same moment. Returns what undoes it. */
export function acquire(limit: ClientLimit): () => void {
  requireCapacity(limit);
  limit.now++;
  return () => void limit.now--;
}

/** Returns a signal that aborts once `isOver` is true. It is asked now and with each change of the app, until `signal` aborts. */
export function abortWhen(
  view: AgentView,
  key: string,
  isOver: () => boolean,
  signal: AbortSignal,
): AbortSignal {
  const over = new AbortController();
  const check = () => isOver() && over.abort();
  const unwatch = view.onChange((changed) => changed === key && check());
  signal.addEventListener("abort", unwatch, { once: true });
  if (signal.aborted) unwatch();
  check();
  return over.signal;
}
