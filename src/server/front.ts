/**
 * The HTTP app of a table of routes: that of the agent's endpoint, of the kubelet API, or of the controllers. Errors are Kubernetes
 * `Status`; internal details of an unexpected error go to the log only.
 */
import { type Context, type Env, Hono } from "hono";
import { describeError, type Logger } from "../lib/log.ts";
import { ownTurn } from "./turns.ts";
import { Refusal, refuse } from "./refusal.ts";

export interface FrontRoute<Services, E extends Env = Env> {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  /** Covers all apps, which takes a while: such answers are made one at a time, with small ones in between. */
  large?: boolean;
  handle: (context: Context<E>, services: Services) => Response | Promise<Response>;
}

export interface FrontOptions<Services, E extends Env, Route> {
  routes: readonly Route[];
  services: Services;
  log: Logger;
  /**
   * Throws a Refusal to who may not use the route. `isServed` is false before a 405, which has a route of the path, and before a 404,
   * which has none.
   */
  check?(context: Context<E>, route: Route | undefined, isServed: boolean): void | Promise<void>;
}

/** The headers of every answer. */
const policy = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export function createFront<Services, E extends Env, Route extends FrontRoute<Services, E>>(
  { routes, services, log, check }: FrontOptions<Services, E, Route>,
): Hono<E> {
  const app = new Hono<E>({ strict: true });
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(policy)) context.header(name, value);
    await next();
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (context) => {
      await check?.(context, route, true);
      if (route.large) await ownTurn();
      return await route.handle(context, services);
    });
  }
  for (const [path, same] of Map.groupBy(routes, ({ path }) => path)) {
    const methods = same.flatMap(({ method }) => method === "GET" ? ["GET", "HEAD"] : [method]);
    app.all(path, async (context) => {
      await check?.(context, same[0], false);
      const message = `${context.req.method} ${context.req.path}: use ${methods.join(" or ")}`;
      throw new Refusal(405, message, { headers: { allow: methods.join(", ") } });
    });
  }
  app.all("*", async (context) => {
    await check?.(context, undefined, false);
    throw new Refusal(404, `no such path: ${context.req.path}`);
  });
  app.onError((error, context) => {
    if (error instanceof Refusal) return refuse(context, error);
    log.error("a request failed", { path: context.req.path, why: describeError(error) });
    return refuse(context, new Refusal(500, "the request failed; the log says why"));
  });
  return app;
}
