/** Contains no credential: the URL never has one, and headers are left out. */
export interface KubeErrorFields {
  method: string;
  url: string;
  /** Absent if there was no answer. */
  status?: number;
  /**
   * The server's reason, such as `NotFound`, else one of `Unreachable`, `Timeout`, `Aborted` (no answer),
   * `BadAnswer`, `TooLarge` (an unusable answer), `Credentials` (nothing was sent).
   */
  reason: string;
  retryAfterMs?: number;
  cause?: unknown;
}

/** A request to the API server that got no usable answer. The message contains the request, its URL, the status and the reason. */
export class KubeError extends Error implements KubeErrorFields {
  override name = "KubeError";
  method: string;
  url: string;
  status?: number;
  reason: string;
  retryAfterMs?: number;

  constructor(detail: string, { method, url, status, reason, retryAfterMs, cause }: KubeErrorFields) {
    const answer = status === undefined ? "" : `${status} ${reason}: `;
    super(oneLine(`${method} ${url}: ${answer}${detail}`), cause === undefined ? undefined : { cause });
    this.method = method;
    this.url = url;
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A server's message may have any length and any characters; an error message is one line of a log. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\u0000-\u001f\u007f]+/g, " ");
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

/** Enough for the ten fields that an API server complains about. */
const longest = 2000;

export function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

/** Reports whether the server answered at all, even with a rejection. */
export function wasAnswered(error: unknown): boolean {
  return error instanceof KubeError && error.status !== undefined;
}

/** Reports whether the server decided against the request: nothing was written, the same would not be, and others may well be. */
export function wasRejected(error: unknown): error is KubeError {
  const { status = 0 } = error instanceof KubeError ? error : {};
  return status >= 400 && status < 500 && ![401, 408, 429].includes(status);
}

/**
 * Reports whether the object is not the one that a write was based on. An old resourceVersion is answered with 409, another uid with
 * 409 or 422 (Kubernetes 1.20), an object that is gone with 404.
 */
export function isOutdated(error: unknown): boolean {
  return hasStatus(error, 409) || hasStatus(error, 404) ||
    hasStatus(error, 422) && error.message.includes("metadata.uid");
}

/** Reports whether the requested version is no longer in the server's history. */
export function isExpired(error: unknown): boolean {
  return hasStatus(error, 410) || error instanceof KubeError && ["Expired", "Gone"].includes(error.reason);
}
