/**
 * The HTTP endpoint of the controllers: health, readiness, metrics and status. It answers from memory. Off loopback, whoever reads more
 * than /healthz and /livez needs a token.
 */
import { type Context, Hono } from "hono";
import type { Controller, FollowerState } from "../kube/controller.ts";
import type { Logger } from "../lib/log.ts";
import { exposeMetrics, metricsType } from "../lib/metrics.ts";
import { requireToken, type Verdict } from "../server/access.ts";
import type { CredentialTimes } from "../server/credential-times.ts";
import { createFront, type FrontRoute } from "../server/front.ts";
import { alive, sendChecks } from "../server/health.ts";
import type { Check } from "../server/view.ts";

export interface ControllerView {
  log: Logger;
  version: string;
  identity: string;
  startedAt: Date;
  controllers: readonly Controller[];
  isLeading(): boolean;
  /** The ports that are not open, by their address, with the reason. */
  ports?: ReadonlyMap<string, string>;
  credentials?: CredentialTimes;
}

interface Route extends FrontRoute<ControllerView> {
  isOpen?: boolean;
}

const routes: readonly Route[] = [
  { method: "GET", path: "/healthz", handle: alive, isOpen: true },
  { method: "GET", path: "/livez", handle: alive, isOpen: true },
  { method: "GET", path: "/readyz", handle: (context, view) => sendChecks(context, checksOf(view)) },
  { method: "GET", path: "/metrics", handle: sendMetrics },
  { method: "GET", path: "/status", handle: sendStatus },
];

/** Reviews a token that wants to get a path. */
export type AuthorizePath = (token: string, path: string, peer?: string) => Promise<Verdict>;

/** Without `authorize` it serves everyone. */
export function createControllerApp(view: ControllerView, authorize?: AuthorizePath): Hono {
  return createFront({
    routes,
    services: view,
    log: view.log,
    async check(context: Context, route: Route | undefined, isServed: boolean) {
      // Which paths there are is no secret.
      if (!authorize || !route || !isServed || route.isOpen) return;
      const { path } = route;
      await requireToken(context, {
        authorize: (token, peer) => authorize(token, path, peer),
        wanted: `get ${path}`,
      });
    },
  });
}

async function sendMetrics(
  context: Context,
  { controllers, credentials }: ControllerView,
): Promise<Response> {
  const texts = await Promise.all([
    ...controllers.map((controller) => controller.metrics()),
    ...(credentials ? [exposeMetrics([credentials.family()])] : []),
  ]);
  return context.body(texts.join("\n"), 200, { "content-type": metricsType });
}

function sendStatus(context: Context, view: ControllerView): Response {
  const { version, identity, startedAt, controllers, ports } = view;
  return context.json({
    version,
    identity,
    startedAt: startedAt.toISOString(),
    controllers: controllers.map(({ name }) => name),
    leading: view.isLeading(),
    followers: followersOf(view),
    closedPorts: [...ports?.values() ?? []],
    ...Object.assign({}, ...controllers.map((controller) => controller.status?.())),
  });
}

function checksOf(view: ControllerView): Check[] {
  const closed = [...view.ports?.values() ?? []];
  return [
    ...followersOf(view).map(({ name, listed, alive, message }) => ({ name, ok: listed && alive, message })),
    ...closed.map((message) => ({ name: "listen", ok: false, message })),
  ];
}

/** Two controllers may follow the same resource. */
function followersOf({ controllers }: ControllerView): FollowerState[] {
  return controllers.flatMap((controller) => {
    const prefix = controllers.length > 1 ? `${controller.name}/` : "";
    return controller.followers().map((state) => ({ ...state, name: `${prefix}${state.name}` }));
  });
}

/** An endpoint that is safe to expose: the health of `full`, without details. */
export function createHealthApp(full: Hono): Hono {
  const app = new Hono();
  for (const path of ["/healthz", "/livez", "/readyz"]) {
    app.get(path, async (context) => {
      const { ok } = await full.request(path);
      return ok ? context.text("ok") : context.text("not ready", 503);
    });
  }
  return app;
}
