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
    super(oneLine(`${method} ${url}: ${answer}${detail}`), cause === undefined ? undefined : { cause });
    this.method = method;
    this.url = url;
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What a server says may be of any length, with any character in it; a message is for one line of a log. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\u0000-\u001f\u007f]+/g, " ");
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

/** Room for the ten fields that an API server complains about. */
const longest = 2000;

/** True for a KubeError with this HTTP status. */
export function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

/** True where the server said something, be it that it will not. */
export function wasAnswered(error: unknown): boolean {
  return error instanceof KubeError && error.status !== undefined;
}

/** True where the version that was asked for is no longer in the server's history. */
export function isExpired(error: unknown): boolean {
  return hasStatus(error, 410) || error instanceof KubeError && ["Expired", "Gone"].includes(error.reason);
}
