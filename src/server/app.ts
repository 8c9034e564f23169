/** The agent's HTTP endpoint behind one listener, and who may use which of its routes there. */
import type { Context, Hono } from "hono";
import { type ConnectionEnv, requireToken, type Verdict } from "./access.ts";
import { createFront } from "./front.ts";
import { Refusal } from "./refusal.ts";
import type { Access } from "./rights.ts";
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
  /** `recheckMs`: how often streams ask again, if not as usual. */
  | { kind: "tls"; authorize: Authorize; recheckMs?: number };

export type { Verdict } from "./access.ts";
/** `peer` is where the request came from. */
export type Authorize = (token: string, subresource: Subresource, peer?: string) => Promise<Verdict>;

export function createServerApp(listener: Listener, services: Services): Hono {
  return createFront({
    routes,
    services,
    log: services.log,
    async check(context: Context, route: Route | undefined, isServed: boolean) {
      const host = context.req.header("host") ?? "";
      if (listener.kind === "loopback" && !listener.isOwnHost(host)) {
        throw new Refusal(403, `host ${JSON.stringify(host)} does not name this endpoint`);
      }
      // Which paths and methods there are is no secret.
      if (route && isServed) await checkAccess(context, route, listener);
    },
  });
}

async function checkAccess(
  context: Context<{ Bindings: ConnectionEnv; Variables: { access: Access } }>,
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
  const ask = () =>
    requireToken(context, {
      authorize: (token, peer) => authorize(token, subresource, peer),
      wanted: `get nodes/${subresource}`,
      hint: isLocal ? "; 'nckubelet dashboard' prints a link with a valid one" : "",
    });
  await ask();
  context.set("access", { ask, recheckMs: "recheckMs" in listener ? listener.recheckMs : undefined });
}
