/** Prepares a request for sending. */
import type { Asked } from "./answer.ts";
import { describeRequest } from "../resources.ts";

export type Query = Record<string, string | number | boolean | undefined>;

/** A request that is ready to be sent, except for its credentials. */
export interface Call {
  asked: Asked;
  /** For metrics. */
  verb: string;
  resource: string;
  /** With the query, and prefixed with the server's own path. */
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface CallInput {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  body?: unknown;
  /** Default: a merge patch for PATCH, else JSON. */
  contentType?: string;
}

/** `watch` is the verb of what would otherwise be a list. */
export function prepareCall(server: URL, userAgent: string, input: CallInput, { watch = false } = {}): Call {
  const { method = "GET", path, query = {}, body, contentType = defaultType(method) } = input;
  const { verb, resource } = describeRequest(method, path);
  const fullPath = server.pathname.replace(/\/+$/, "") + path;
  // A continue token is long and means nothing to a reader.
  const shownQuery = queryString({ ...query, continue: undefined });
  return {
    asked: { method, url: server.origin + fullPath + shownQuery },
    verb: watch ? "watch" : verb,
    resource,
    path: fullPath + queryString(query),
    headers: {
      accept: "application/json",
      "user-agent": userAgent,
      ...(body !== undefined && { "content-type": contentType }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

function defaultType(method: string): string {
  return method === "PATCH" ? "application/merge-patch+json" : "application/json";
}

function queryString(query: Query): string {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value!)}`);
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}
