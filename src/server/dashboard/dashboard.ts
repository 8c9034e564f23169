/** The routes of the dashboard. They hold nothing that is secret, so anyone gets them; what they show is asked for like everything. */
import type { Context } from "hono";

/** Only what comes from here runs, is shown and is asked, and text is never taken for markup, should anybody try. */
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

/** Makes the route of one part of the page; the parts are loaded by the first one who asks. */
export function sendAsset(part: keyof typeof types) {
  return async (context: Context): Promise<Response> => {
    const assets = await import("./assets.ts");
    return context.body(assets[part], 200, {
      "content-type": types[part],
      "content-security-policy": policy,
    });
  };
}
