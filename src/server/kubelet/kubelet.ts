/**
 * The kubelet API, as far as the API server, kubectl, metrics-server and Prometheus use it: logs, exec, attach and port-forward of the
 * Pods that stand for apps, and measurements.
 *
 * routes.ts is the table of paths with the rights that each needs; access.ts checks them. Streams begin as an HTTP request
 * with `Upgrade: SPDY/3.1` (upgrade.ts) and continue in remote-command.ts and port-forward.ts.
 *
 * Guarantees: every request, also one for a path that does not exist, is authenticated and authorized first. A command ends with its
 * client, and with the agent. Clients are limited in number, and none costs more than its buffers.
 * Caveat: commands of an agent that is killed live on, without input and output, until their app ends.
 */
import { Hono } from "hono";
import { describeError } from "../../lib/log.ts";
import { policy } from "../app.ts";
import { Refusal, refuse } from "../refusal.ts";
import { requireAccess, type Sender } from "./access.ts";
import type { KubeletContext, KubeletEnv } from "./context.ts";
import { kubeletRoutes } from "./routes.ts";
import type { KubeletServices } from "./services.ts";

export { defaultPlaces, type KubeletServices, type PodBook } from "./services.ts";
export { createUpgrades } from "./upgrade.ts";

export function createKubeletApp(services: KubeletServices): Hono<KubeletEnv> {
  const app = new Hono<KubeletEnv>({ strict: true });
  const check = ({ req, env }: KubeletContext, subresources: readonly string[]) =>
    requireAccess(senderOf(req.header("authorization"), env), req.method, subresources, services);

  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(policy)) context.header(name, value);
    await next();
  });
  for (const { method, path, subresources, handle } of kubeletRoutes) {
    app.on(method, path, async (context) => {
      await check(context, subresources);
      return await handle(context, services);
    });
  }
  for (const { method, path, subresources } of kubeletRoutes) {
    app.all(path, async (context) => {
      await check(context, subresources);
      throw new Refusal(405, `${context.req.method} ${context.req.path}: use ${method}`, {
        headers: { allow: method },
      });
    });
  }
  app.notFound(async (context) => {
    // Who may not use the node does not learn which paths there are.
    try {
      await check(context, ["proxy"]);
    } catch (error) {
      if (error instanceof Refusal) return refuse(context, error);
      throw error;
    }
    return refuse(context, new Refusal(404, `no such path: ${context.req.path}`));
  });
  app.onError((error, context) => {
    if (error instanceof Refusal) return refuse(context, error);
    services.log.error("a request failed", { path: context.req.path, why: describeError(error) });
    return refuse(context, new Refusal(500, "the agent could not answer; its log says why"));
  });
  return app;
}

function senderOf(authorization: string | undefined, env: KubeletEnv["Bindings"] | undefined): Sender {
  return { authorization, socket: env?.incoming?.socket as Sender["socket"] };
}
