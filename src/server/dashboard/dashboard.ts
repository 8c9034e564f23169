/** The routes of the dashboard. The page has no secrets, so anyone gets it; its data comes from routes that check access. */
import type { Context } from "hono";
import { Refusal } from "../refusal.ts";
import type { Services } from "../services.ts";

/** Only scripts, styles and data of this endpoint are allowed, and text never becomes markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const types = {
  page: "text/html; charset=utf-8",
  style: "text/css; charset=utf-8",
  script: "text/javascript; charset=utf-8",
};

/** Returns the route of one part of the page; the parts are loaded at the first request. */
export function sendAsset(part: keyof typeof types) {
  return async (context: Context): Promise<Response> => {
    const assets = await import("./assets.ts");
    return context.body(assets[part], 200, {
      "content-type": types[part],
      "content-security-policy": policy,
    });
  };
}

/** The link that opens the dashboard, with the token as a fragment: browsers send a fragment to no server. */
export function sendDashboardURL(context: Context, { dashboardURL, view }: Services): Response {
  const url = dashboardURL();
  if (url) return context.json({ url });
  const failed = view.checks().find(({ name, ok }) => name === "listen" && !ok);
  throw new Refusal(503, `the agent serves no loopback address: ${failed?.message ?? "set --listen"}`);
}
