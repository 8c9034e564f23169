/**
 * The kubelet API, as far as the API server, kubectl, metrics-server and Prometheus use it: logs, exec, attach and port-forward of the
 * Pods that stand for apps, and measurements.
 *
 * routes.ts is the table of paths with the rights that each needs; access.ts checks them. Streams begin as an HTTP request
 * with `Upgrade: SPDY/3.1`, whose handler takes the connection over (upgrade.ts), and continue in remote-command.ts and port-forward.ts.
 *
 * Guarantees: every request, also one for a path that does not exist, is authenticated and authorized first. A command ends with its
 * client, and with the agent. Streams and followed logs end with their Pod, app or run, and within minutes with the rights of their
 * sender (lifetime.ts, ../rights.ts). Clients are limited in number, and streams reserve the memory that they need at worst (stream-memory.ts).
 * Caveat: commands of an agent that is killed live on, without input and output, until their app ends.
 */
import type { Hono } from "hono";
import { createFront } from "../front.ts";
import { Refusal } from "../refusal.ts";
import { askAndTrust } from "../rights.ts";
import { certificateUser, requireAccess, type Sender } from "./access.ts";
import type { KubeletContext, KubeletEnv } from "./context.ts";
import { type KubeletRoute, kubeletRoutes } from "./routes.ts";
import type { KubeletServices } from "./services.ts";

export { defaultClientLimits, type KubeletServices, type PodLister } from "./services.ts";
export { waitForStreams } from "./upgrade.ts";

export function createKubeletApp(services: KubeletServices): Hono<KubeletEnv> {
  return createFront({
    routes: kubeletRoutes,
    services,
    log: services.log,
    // Who may not use the node does not learn which paths there are.
    async check(context: KubeletContext, route: KubeletRoute | undefined) {
      const { req, env } = context;
      const socket = env?.incoming?.socket as Sender["socket"];
      const sender = { socket, authorization: req.header("authorization"), peer: env?.peer };
      const ask = () => requireAccess(sender, req.method, route?.subresources ?? ["proxy"], services);
      const user = await askAndTrust(env, ask);
      const isKnown = certificateUser(socket) === undefined;
      context.set("access", { user, isKnown, ask, recheckMs: services.recheckMs });
      // Node does no more than send what is written: a longer answer would come to a halt.
      if (env?.takeOver && route && !route.streams) {
        throw new Refusal(400, `only a request for streams may have the header Upgrade, not ${req.path}`);
      }
    },
  });
}
