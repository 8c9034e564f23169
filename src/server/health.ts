/** Answers to health checks, from memory: neither disk nor API server can delay them. */
import type { Context } from "hono";
import type { Check } from "./view.ts";

/** Answers while the process lives. */
export function alive(context: Context): Response {
  return context.text("ok");
}

/** Reports whether all checks pass; lists them if one fails, or with `verbose`. */
export function sendChecks(context: Context, checks: Check[]): Response {
  const passed = checks.every(({ ok }) => ok);
  const verbose = context.req.query("verbose") !== undefined || !passed;
  return context.text(verbose ? describeChecks(checks, passed) : "ok", passed ? 200 : 503);
}

function describeChecks(checks: Check[], passed: boolean): string {
  const lines = checks.map(({ name, ok, message }) =>
    `[${ok ? "+" : "-"}]${name} ${ok ? "ok" : "failed"}: ${message}`
  );
  return `${lines.join("\n")}\nreadyz check ${passed ? "passed" : "failed"}\n`;
}
