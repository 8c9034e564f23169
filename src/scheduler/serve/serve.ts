/** The scheduler's HTTP endpoint: health, readiness, metrics and status. It answers from memory. */
import { Hono } from "hono";
import type { FollowerState } from "../follow/follow.ts";
import type { GaugeValues } from "./metrics.ts";

export { createSchedulerMetrics, type SchedulerMetrics } from "./metrics.ts";
export { missingRights } from "./rights.ts";

export interface SchedulerView {
  version: string;
  identity: string;
  startedAt: Date;
  followers(): readonly FollowerState[];
  gauges(): GaugeValues;
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
  app.get("/status", (context) => {
    const { leader, queues, nodes, apps } = view.gauges();
    return context.json({
      version: view.version,
      identity: view.identity,
      startedAt: view.startedAt.toISOString(),
      leading: leader,
      followers: view.followers(),
      queues,
      nodes,
      apps,
    });
  });
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

function describe(checks: readonly FollowerState[], ready: boolean): string {
  const lines = checks.map(({ name, listed, alive, message }) => {
    const ok = listed && alive;
    return `[${ok ? "+" : "-"}]${name} ${ok ? "ok" : "failed"}: ${message}`;
  });
  return `${lines.join("\n")}\nreadyz check ${ready ? "passed" : "failed"}\n`;
}
