/** What a handler gets of its request, and the checks that several share. */
import type { Context } from "hono";
import type { IncomingMessage } from "node:http";
import { podContainer } from "../../api/names.ts";
import { readRunUser } from "../../supervisor/run/run.ts";
import { type AuthorizeUser, type ConnectionEnv, unavailable, type User } from "../access.ts";
import { Refusal } from "../refusal.ts";
import { requireCapacity } from "../routes/routes.ts";
import type { TakeOver } from "../listen/listen.ts";
import type { Access } from "../rights.ts";
import type { AppView } from "../view.ts";
import type { KubeletServices } from "./services.ts";

export interface KubeletEnv {
  Bindings: ConnectionEnv & {
    incoming?: IncomingMessage;
    /** Set for a request that asks for another protocol. */
    takeOver?: TakeOver;
  };
  Variables: {
    /** Who sends the request, and whether that user may still do so. */
    access: Access & {
      user: User;
      /** The user shows a token of its own. Who shows a certificate may be the API server, on behalf of anyone. */
      isKnown: boolean;
    };
  };
}

export type KubeletContext = Context<KubeletEnv>;

/** The app that the path's Pod stands for now. */
export function findApp(
  { req }: KubeletContext,
  { view, pods }: Pick<KubeletServices, "view" | "pods">,
): AppView | undefined {
  const { namespace = "", pod = "" } = req.param() as Record<string, string>;
  const names = pods.appOfPod(namespace, pod);
  return names && view.app(names.namespace, names.name);
}

/** The same; throws if there is none. */
export function requireApp(context: KubeletContext, services: KubeletServices): AppView {
  const { namespace = "", pod = "" } = context.req.param() as Record<string, string>;
  const app = findApp(context, services);
  if (app) return app;
  const { view } = services;
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

/**
 * Resolves if clients may enter the app: it runs as another user and in other groups than root, or its spec allows it. Who may use
 * pods/exec in a namespace is not thereby root on nodes. The sender is usually the API server, whose own rights say nothing about the
 * user behind it, so the app decides; a sender that is known may have the right `ncapps/exec`.
 */
export async function requireEntry(
  context: KubeletContext,
  app: AppView,
  { view, authorize }: Pick<KubeletServices, "view" | "authorize">,
): Promise<void> {
  if (app.app.spec.allowExec) return;
  const user = await readRunUser(requireRun(app).folder);
  if (user && user.uid > 0 && !user.groups.includes(0)) return;
  if (await holdsEntry(context, app, authorize)) return;
  const { namespace = "default", name } = app.app.metadata;
  const why = user?.uid === 0
    ? `runs as root: who enters it is root on node ${view.node}`
    : user
    ? `runs in the group root (0): who enters it may write what that group may on node ${view.node}`
    : `may run as root: node ${view.node} does not know its user`;
  throw new Refusal(
    403,
    `ncapp ${namespace}/${name} ${why}; set spec.allowExec to true to allow it, or spec.runAsUser${
      user?.uid ? " and spec.runAsGroup" : ""
    } to another ${user?.uid ? "group" : "user"}`,
    { name },
  );
}

/** Whether the sender is known and may enter the app as whatever user it runs: `create` of `ncapps/exec`. */
async function holdsEntry(
  { env, get }: KubeletContext,
  { app: { metadata: { namespace = "default", name } } }: AppView,
  authorize: AuthorizeUser,
): Promise<boolean> {
  const { user, isKnown } = get("access");
  if (!isKnown) return false;
  const verdict = await authorize(
    user,
    { verb: "create", subresource: "exec", app: { namespace, name } },
    env?.peer,
  );
  if (verdict === "unavailable") throw unavailable();
  return verdict === "allowed";
}

/** Why clients of the app may not connect to a port of the node; undefined if they may. Its spec may have changed since they came. */
export async function whyNoPort(
  context: KubeletContext,
  app: AppView | undefined,
  port: number,
  { authorize }: Pick<KubeletServices, "authorize">,
): Promise<string | undefined> {
  if (!app) return "the app is gone";
  const { allowExec, ports = [] } = app.app.spec;
  const isOwn = ports.some(({ port: own, protocol = "TCP" }) => own === port && protocol === "TCP");
  if (allowExec || isOwn || await holdsEntry(context, app, authorize).catch(() => false)) return undefined;
  const { namespace = "default", name } = app.app.metadata;
  return `port ${port} is not a TCP port in spec.ports of ncapp ${namespace}/${name}; ` +
    "add it, or set spec.allowExec to true to reach every port of the node";
}

/** Who holds the memory and the time of a request for an app: the user, or the namespace if that is not known. */
export function holderOf(context: KubeletContext, { app }: AppView): string {
  const { user, isKnown } = context.get("access");
  return isKnown ? `user ${user.username}` : `namespace ${app.metadata.namespace ?? "default"}`;
}

/**
 * Takes a place and memory, or refuses the request, before anything else is awaited: others may be authorized at the same moment.
 * Returns what undoes it.
 */
export function reserve(
  { sessions, memory }: KubeletServices["limits"],
  holder: string,
  bytes: number,
): () => void {
  requireCapacity(sessions);
  const release = memory(holder, bytes);
  if (!release) {
    const message = `streams of ${holder} use all memory that they may`;
    throw new Refusal(429, `${message}; try again later`, { headers: { "retry-after": "5" } });
  }
  sessions.now++;
  return () => {
    sessions.now--;
    release();
  };
}
