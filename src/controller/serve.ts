/** The HTTP endpoint of the controllers: health, readiness, metrics and status. It answers from memory. */
import { Hono } from "hono";
import type { Controller, FollowerState } from "../kube/controller.ts";

export interface ControllerView {
  version: string;
  identity: string;
  startedAt: Date;
  controllers: readonly Controller[];
  isLeading(): boolean;
  /** The ports that are not open, by their address, with the reason. */
  ports?: ReadonlyMap<string, string>;
}

export function createControllerApp(view: ControllerView): Hono {
  const app = new Hono();
  const { version, identity, startedAt, controllers } = view;
  const followers = () => controllers.flatMap((controller) => named(controller, controllers.length > 1));
  const closedPorts = () =>
    [...view.ports?.values() ?? []].map((message) => ({
      name: "listen",
      listed: true,
      alive: false,
      message,
    }));
  app.get("/healthz", (context) => context.text("ok"));
  app.get("/livez", (context) => context.text("ok"));
  app.get("/readyz", (context) => {
    const checks = [...followers(), ...closedPorts()];
    const ready = checks.every(({ listed, alive }) => listed && alive);
    const verbose = context.req.query("verbose") !== undefined || !ready;
    return context.text(verbose ? describe(checks, ready) : "ok", ready ? 200 : 503);
  });
  app.get("/metrics", async (context) => {
    const texts = await Promise.all(controllers.map((controller) => controller.metrics()));
    const type = "text/plain; version=0.0.4; charset=utf-8";
    return context.text(texts.join("\n"), 200, { "content-type": type });
  });
  app.get("/status", (context) =>
    context.json({
      version,
      identity,
      startedAt: startedAt.toISOString(),
      controllers: controllers.map(({ name }) => name),
      leading: view.isLeading(),
      followers: followers(),
      closedPorts: closedPorts().map(({ message }) => message),
      ...Object.assign({}, ...controllers.map((controller) => controller.status?.())),
    }));
  app.notFound((context) => {
    const message = `no such path: ${context.req.path}`;
    return context.json({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "NotFound",
      code: 404,
    }, 404);
  });
  return app;
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

/** Two controllers may follow the same resource. */
function named(controller: Controller, isOneOfMany: boolean): FollowerState[] {
  const prefix = isOneOfMany ? `${controller.name}/` : "";
  return controller.followers().map((state) => ({ ...state, name: `${prefix}${state.name}` }));
}

function describe(checks: readonly FollowerState[], ready: boolean): string {
  const lines = checks.map(({ name, listed, alive, message }) => {
    const ok = listed && alive;
    return `[${ok ? "+" : "-"}]${name} ${ok ? "ok" : "failed"}: ${message}`;
  });
  return `${lines.join("\n")}\nreadyz check ${ready ? "passed" : "failed"}\n`;
}
