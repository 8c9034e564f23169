/**
 * Asks the API server whose token it is (TokenReview) and whether that user may `get` the subresource of this node
 * (SubjectAccessReview), as the kubelet does.
 *
 * Guarantees: a positive answer is cached for two minutes and a negative one for half a minute, also while the server is
 * unreachable. At most 16 reviews are in flight; further clients are asked to retry. Tokens are stored as digests only.
 */
import { createHash } from "node:crypto";
import type { KubeClient } from "../../kube/client/client.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";
import type { Authorize, Verdict } from "../app.ts";
import type { Subresource } from "../routes/routes.ts";

export interface ReviewOptions {
  client: KubeClient;
  node: string;
  log: Logger;
  allowedMs?: number;
  refusedMs?: number;
  /** A steady clock, for the expiry of cached answers. */
  now?: () => number;
}

interface User {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

const maxCached = 1000;
const maxInFlight = 16;
const timeoutMs = 10_000;

export function createTokenReview(
  { client, node, log, allowedMs = 120_000, refusedMs = 30_000, now = steadyNow }: ReviewOptions,
): Authorize {
  const known = new Map<string, { verdict: Verdict; until: number }>();
  const inFlight = new Map<string, Promise<Verdict>>();

  const remember = (key: string, verdict: Verdict) => {
    known.delete(key);
    known.set(key, { verdict, until: now() + (verdict === "allowed" ? allowedMs : refusedMs) });
    const oldest = known.keys().next().value;
    if (known.size > maxCached && oldest !== undefined) known.delete(oldest);
  };
  const review = async (key: string, token: string, subresource: Subresource): Promise<Verdict> => {
    try {
      const user = await findUser(client, token);
      const allowed = user && await isAllowed(client, user, node, subresource);
      const verdict = allowed ? "allowed" : user ? "forbidden" : "unknown";
      remember(key, verdict);
      return verdict;
    } catch (error) {
      log.warn("cannot review a token", { why: describeError(error) });
      return "unavailable";
    } finally {
      inFlight.delete(key);
    }
  };
  return async (token, subresource) => {
    const key = createHash("sha256").update(`${subresource}\0${token}`).digest("base64");
    const entry = known.get(key);
    if (entry && entry.until > now()) return entry.verdict;
    const pending = inFlight.get(key);
    if (pending) return await pending;
    if (inFlight.size >= maxInFlight) return "unavailable";
    const answer = review(key, token, subresource);
    inFlight.set(key, answer);
    return await answer;
  };
}

async function findUser(client: KubeClient, token: string): Promise<User | undefined> {
  const { status } = await client.request<{ status?: { authenticated?: boolean; user?: User } }>({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
    timeoutMs,
    priority: "low",
  });
  return status?.authenticated ? status.user : undefined;
}

async function isAllowed(
  client: KubeClient,
  user: User,
  node: string,
  subresource: Subresource,
): Promise<boolean> {
  const { username, uid, groups, extra } = user;
  const resourceAttributes = { verb: "get", version: "v1", resource: "nodes", subresource, name: node };
  const { status } = await client.request<{ status?: { allowed?: boolean } }>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: username, uid, groups, extra, resourceAttributes },
    },
    timeoutMs,
    priority: "low",
  });
  return status?.allowed === true;
}
