/**
 * The HTTP endpoint behind one listener, built from the table of routes. Errors are Kubernetes `Status`; internal details of an
 * unexpected error go to the agent's log only.
 */
import { setImmediate } from "node:timers/promises";
import { Hono } from "hono";
import type { Context } from "hono";
import { describeError } from "../lib/log.ts";
import { bearerToken } from "./access.ts";
import { Refusal, refuse } from "./refusal.ts";
import { type Route, routes, type Subresource } from "./routes/routes.ts";
import type { Services } from "./services.ts";

/** Where a request came in, and how access is checked there. */
export type Listener =
  | { kind: "socket" }
  /**
   * `isOwnHost` accepts the names of this endpoint; a foreign page with DNS rebinding sends another. Without `authorize` every local
   * user may read.
   */
  | { kind: "loopback"; isOwnHost: (host: string) => boolean; authorize?: Authorize }
  | { kind: "tls"; authorize: Authorize };

export type Verdict = "allowed" | "unknown" | "forbidden" | "unavailable";
export type Authorize = (token: string, subresource: Subresource) => Promise<Verdict>;

/** The headers of every answer. */
export const policy = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export function createServerApp(listener: Listener, services: Services): Hono {
  const app = new Hono({ strict: true });
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(policy)) context.header(name, value);
    if (listener.kind === "loopback" && !listener.isOwnHost(context.req.header("host") ?? "")) {
      throw new Refusal(
        403,
        `host ${JSON.stringify(context.req.header("host") ?? "")} does not name this endpoint`,
      );
    }
    await next();
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (context) => {
      await checkAccess(context, route, listener);
      if (route.large) await ownTurn();
      return await route.handle(context, services);
    });
  }
  for (const [path, methods] of methodsByPath()) {
    app.all(path, (context) => {
      const message = `${context.req.method} ${context.req.path}: use ${methods.join(" or ")}`;
      throw new Refusal(405, message, { headers: { allow: methods.join(", ") } });
    });
  }
  app.notFound((context) => refuse(context, new Refusal(404, `no such path: ${context.req.path}`)));
  app.onError((error, context) => {
    if (error instanceof Refusal) return refuse(context, error);
    services.log.error("a request failed", { path: context.req.path, why: describeError(error) });
    return refuse(context, new Refusal(500, "the agent could not answer; its log says why"));
  });
  return app;
}

async function checkAccess(
  { req }: Context,
  { method, path, access, subresource = "proxy" }: Route,
  listener: Listener,
) {
  if (access === "anyone" || listener.kind === "socket") return;
  if (access === "socket") {
    throw new Refusal(
      403,
      `${method} ${path} is served on the agent's unix socket only: use the nckubelet command`,
    );
  }
  const isLocal = listener.kind === "loopback";
  const { authorize } = listener;
  if (!authorize || (isLocal && access === "local")) return;
  const token = bearerToken(req.header("authorization"));
  const verdict = token === undefined ? "unknown" : await authorize(token, subresource);
  if (verdict === "unknown") {
    const what = token === undefined ? "a bearer token is required" : "the token is unknown";
    const hint = isLocal ? "; 'nckubelet dashboard' prints a link with a valid one" : "";
    throw new Refusal(401, `${what}${hint}`, {
      headers: { "www-authenticate": 'Bearer realm="nckubelet"' },
    });
  }
  if (verdict === "forbidden") throw new Refusal(403, `the token may not get nodes/${subresource}`);
  if (verdict === "unavailable") {
    throw new Refusal(503, "the API server cannot review the token now", {
      headers: { "retry-after": "5" },
    });
  }
}

function methodsByPath(): Map<string, string[]> {
  const paths = new Map<string, string[]>();
  for (const { method, path } of routes) {
    const methods = method === "GET" ? ["GET", "HEAD"] : [method];
    paths.set(path, [...paths.get(path) ?? [], ...methods]);
  }
  return paths;
}

let lastTurn = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller of this function has: however many large answers are requested at once,
 * new requests are handled between two of them.
 */
export function ownTurn(): Promise<void> {
  return lastTurn = lastTurn.then(() => setImmediate());
}
