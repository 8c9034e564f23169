/** The scheduler's own HTTP endpoint: health, readiness, metrics, and a page of state. Answers from memory. */
import { Hono } from "hono";
import type { FollowerState } from "../follow/follow.ts";

export { createSchedulerMetrics, type SchedulerMetrics } from "./metrics.ts";
export { missingRights } from "./rights.ts";

export interface SchedulerView {
  version: string;
  identity: string;
  startedAt: Date;
  leading(): boolean;
  followers(): readonly FollowerState[];
  queues(): Record<string, number>;
  nodes(): Record<string, number>;
  apps(): number;
  metrics(): Promise<string>;
}

export function createSchedulerApp(view: SchedulerView): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.text("ok"));
  app.get("/livez", (context) => context.text("ok"));
  app.get("/readyz", (context) => {
    const checks = view.followers();
    const ready = checks.every(({ listed, alive }) => listed && alive);
    const verbose = context.req.query("verbose") !== undefined || !ready;
    return context.text(verbose ? describe(checks, ready) : "ok", ready ? 200 : 503);
  });
  app.get(
    "/metrics",
    async (context) =>
      context.text(await view.metrics(), 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }),
  );
  app.get("/status", (context) =>
    context.json({
      version: view.version,
      identity: view.identity,
      startedAt: view.startedAt.toISOString(),
      leading: view.leading(),
      followers: view.followers(),
      queues: view.queues(),
      nodes: view.nodes(),
      apps: view.apps(),
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

/** What may be asked from anywhere: whether the endpoint `of` answers well, without its words. */
export function createHealthApp(of: Hono): Hono {
  const app = new Hono();
  for (const path of ["/healthz", "/livez", "/readyz"]) {
    app.get(path, async (context) => {
      const { ok } = await of.request(path);
      return ok ? context.text("ok") : context.text("not ready", 503);
    });
  }
  return app;
}

function describe(checks: readonly FollowerState[], ready: boolean): string {
  const lines = checks.map(({ name, listed, alive, message }) => {
    const ok = listed && alive;
    return `[${ok ? "+" : "-"}]${name} ${ok ? "ok" : "failed"}: ${message}`;
  });
  return `${lines.join("\n")}\nreadyz check ${ready ? "passed" : "failed"}\n`;
}
