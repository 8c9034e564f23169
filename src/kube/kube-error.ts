/** What went wrong with one request. Holds no credential: the URL never has one, headers are left out. */
export interface KubeErrorFields {
  method: string;
  url: string;
  /** Absent: there was no answer. */
  status?: number;
  /**
   * The server's word, such as `NotFound`, else one of `Unreachable`, `Timeout`, `Aborted` (no answer),
   * `BadAnswer`, `TooLarge` (an answer that cannot be used), `Credentials` (nothing was sent).
   */
  reason: string;
  retryAfterMs?: number;
  cause?: unknown;
}

/** A request to the API server that gave no usable answer. The message says what, where, which status and why. */
export class KubeError extends Error implements KubeErrorFields {
  override name = "KubeError";
  method: string;
  url: string;
  status?: number;
  reason: string;
  retryAfterMs?: number;

  constructor(detail: string, { method, url, status, reason, retryAfterMs, cause }: KubeErrorFields) {
    const answer = status === undefined ? "" : `${status} ${reason}: `;
    super(`${method} ${url}: ${answer}${detail}`, cause === undefined ? undefined : { cause });
    this.method = method;
    this.url = url;
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** True for a KubeError with this HTTP status. */
export function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

/** True where the version that was asked for is no longer in the server's history. */
export function isExpired(error: unknown): boolean {
  return hasStatus(error, 410) || error instanceof KubeError && ["Expired", "Gone"].includes(error.reason);
}
