/** Errors as Kubernetes `Status`, which kubectl and every client of the API server can read. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { group, plural } from "../api/names.ts";
import type { FieldError } from "../api/validate/validate.ts";

/** The status codes in use, with Kubernetes' reason for each. */
export const reasons = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  408: "Timeout",
  409: "Conflict",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  431: "RequestHeaderFieldsTooLarge",
  500: "InternalError",
  503: "ServiceUnavailable",
} as const;
export type RefusalCode = keyof typeof reasons;

export interface RefusalOptions {
  /** The app concerned. */
  name?: string;
  causes?: FieldError[];
  headers?: Record<string, string>;
}

/** A request that is not served, for a reason that the client may know. */
export class Refusal extends Error {
  override name = "Refusal";
  code: RefusalCode;
  options: RefusalOptions;

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message);
    this.code = code;
    this.options = options;
  }
}

export function refusalStatus({ code, message, options: { name, causes } }: Refusal): object {
  const details = name !== undefined || causes
    ? {
      details: {
        ...(name !== undefined && { name }),
        group,
        kind: plural,
        ...(causes && {
          causes: causes.map(({ reason, message, field }) => ({ reason, message, field })),
        }),
      },
    }
    : {};
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: reasons[code],
    ...details,
    code,
  };
}

export function refuse(context: Context, refusal: Refusal): Response {
  return context.json(refusalStatus(refusal), refusal.code as ContentfulStatusCode, refusal.options.headers);
}

/** The answer to what is no HTTP request. */
export function malformed(): Response {
  return Response.json(refusalStatus(new Refusal(400, "the request is malformed")), { status: 400 });
}
