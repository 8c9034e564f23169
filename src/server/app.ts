/**
 * The local HTTP endpoint: read-only, JSON, errors as Kubernetes `Status`. Answers from memory, so that it is quick and
 * truthful whatever the API server does.
 */
import { Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { apiVersion, listKind } from "../api/names.ts";
import type { AgentView, AppView, Check } from "./view.ts";

/** Builds the routes over a view of the agent. */
export function createServerApp(view: AgentView): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.text("ok"));
  app.get("/livez", (context) => context.text("ok"));
  app.get("/readyz", (context) => {
    const checks = view.checks();
    const ready = checks.every(({ ok }) => ok);
    const verbose = context.req.query("verbose") !== undefined || !ready;
    return context.text(verbose ? describeChecks(checks, ready) : "ok", ready ? 200 : 503);
  });
  app.get("/status", (context) => context.json(statusPage(view)));
  app.get(
    "/apps",
    (context) => context.json({ apiVersion, kind: listKind, metadata: {}, items: view.apps().map(appJSON) }),
  );
  app.get("/apps/:namespace/:name", (context) => {
    const { namespace, name } = context.req.param();
    const found = view.app(namespace, name);
    if (!found) {
      return context.json(
        ...failure(404, "NotFound", `ncapps "${namespace}/${name}" not found on node ${view.node}`),
      );
    }
    return context.json(appJSON(found));
  });
  app.notFound((context) => context.json(...failure(404, "NotFound", `no such path: ${context.req.path}`)));
  app.onError((error, context) => context.json(...failure(500, "InternalError", error.message)));
  return app;
}

function statusPage(view: AgentView) {
  return {
    version: view.version,
    node: view.node,
    startedAt: view.startedAt.toISOString(),
    limits: view.limits,
    sources: view.sources().map((source) => ({ ...source, since: source.since.toISOString() })),
    problems: view.problems(),
    checks: view.checks(),
    apps: view.apps().map(({ app, status, source }) => ({
      namespace: app.metadata.namespace,
      name: app.metadata.name,
      source,
      phase: status.phase,
      reason: status.reason,
      ready: status.ready,
    })),
  };
}

/** An app as NCApp JSON. Values of the environment stay inside: any user of the machine can ask a loopback port. */
function appJSON({ app, status, source, origin, logFile }: AppView) {
  const env = app.spec.env?.map(({ name, valueFrom }) => ({ name, ...(valueFrom ? { valueFrom } : {}) }));
  return {
    ...app,
    spec: { ...app.spec, ...(env ? { env } : {}) },
    status,
    agent: { source, origin, logFile },
  };
}

function describeChecks(checks: Check[], ready: boolean): string {
  const lines = checks.map(({ name, ok, message }) =>
    `[${ok ? "+" : "-"}]${name} ${ok ? "ok" : "failed"}: ${message}`
  );
  return `${lines.join("\n")}\nreadyz check ${ready ? "passed" : "failed"}\n`;
}

function failure(code: ContentfulStatusCode, reason: string, message: string) {
  return [
    { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code },
    code,
  ] as const;
}
