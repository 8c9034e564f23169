/**
 * Asks the API server whose token it is (TokenReview) and what a user may do with this node (SubjectAccessReview), as the kubelet does.
 * A token for the API server counts, and one for the audience of this node, which is of no use anywhere else. review-cache.ts keeps
 * the answers.
 */
import { nodeAudience } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log.ts";
import type { AuthenticateToken, AuthorizeUser, NodeAccess, User } from "../access.ts";
import type { Authorize } from "../app.ts";
import { createReviewCache, type ReviewTimes } from "./review-cache.ts";

export interface ReviewOptions extends ReviewTimes {
  client: KubeClient;
  node: string;
  log: Logger;
}

const timeoutMs = 10_000;

/** Returns the check of tokens that read this node. */
export function createTokenReview(options: ReviewOptions): Authorize {
  const authenticate = createAuthentication(options);
  const authorize = createAuthorization(options);
  return async (token, subresource, peer) => {
    const user = await authenticate(token, peer);
    return typeof user === "string" ? user : await authorize(user, { verb: "get", subresource }, peer);
  };
}

export function createAuthentication({ client, node, ...options }: ReviewOptions): AuthenticateToken {
  const cached = createReviewCache<User | "unknown">({
    ...options,
    isPositive: (user) => user !== "unknown",
  });
  return (token, peer) =>
    cached(
      token,
      async () =>
        await findUser(client, token) ?? await findUser(client, token, [nodeAudience(node)]) ?? "unknown",
      peer,
    );
}

export function createAuthorization({ client, node, ...options }: ReviewOptions): AuthorizeUser {
  const cached = createReviewCache<"allowed" | "forbidden">({
    ...options,
    isPositive: (answer) => answer === "allowed",
  });
  return (user, access, peer) =>
    cached(
      JSON.stringify([user.username, user.uid, user.groups, user.extra, access.verb, access.subresource]),
      async () => await isAllowed(client, user, node, access) ? "allowed" : "forbidden",
      peer,
    );
}

/** Returns the user of a token for these audiences, by default that of the API server. */
async function findUser(client: KubeClient, token: string, audiences?: string[]): Promise<User | undefined> {
  const { status } = await client.request<{ status?: { authenticated?: boolean; user?: Partial<User> } }>({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences } },
    timeoutMs,
    priority: "low",
  });
  if (!status?.authenticated || !status.user?.username) return undefined;
  const { username, uid, groups, extra } = status.user;
  return { username, uid, groups, extra };
}

async function isAllowed(
  client: KubeClient,
  { username, uid, groups, extra }: User,
  node: string,
  { verb, subresource }: NodeAccess,
): Promise<boolean> {
  const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: node };
  const { status } = await client.request<{ status?: { allowed?: boolean; denied?: boolean } }>({
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
  return status?.allowed === true && status.denied !== true;
}
