/**
 * Asks the API server whose token it is (TokenReview) and what a user may do here (SubjectAccessReview): with this node, as the kubelet
 * does, or with a path of the controllers, as kube-scheduler does. A token for the API server counts, and one for the audience of this
 * listener, which is of no use anywhere else. review-cache.ts keeps the answers.
 */
import { controllerAudience, group, nodeAudience, plural, version } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log.ts";
import type { AuthenticateToken, AuthorizeUser, User, Verdict } from "../access.ts";
import type { Authorize } from "../app.ts";
import { createReviewCache, type ReviewTimes } from "./review-cache.ts";

interface Asking extends ReviewTimes {
  client: KubeClient;
  log: Logger;
}

export interface ReviewOptions extends Asking {
  node: string;
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

/** Returns the check of tokens that get a path of the controllers: RBAC knows it as a `nonResourceURL`. */
export function createPathReview(
  options: Asking,
): (token: string, path: string, peer?: string) => Promise<Verdict> {
  const authenticate = createTokenCheck(options, controllerAudience);
  const authorize = createUserCheck(options);
  return async (token, path, peer) => {
    const user = await authenticate(token, peer);
    if (typeof user === "string") return user;
    return await authorize(user, { nonResourceAttributes: { verb: "get", path } }, peer);
  };
}

export function createAuthentication({ node, ...options }: ReviewOptions): AuthenticateToken {
  return createTokenCheck(options, nodeAudience(node));
}

export function createAuthorization({ node, ...options }: ReviewOptions): AuthorizeUser {
  const authorize = createUserCheck(options);
  return (user, { verb, subresource, app }, peer) => {
    const resourceAttributes = app
      ? { verb, group, version, resource: plural, subresource, ...app }
      : { verb, version: "v1", resource: "nodes", subresource, name: node };
    return authorize(user, { resourceAttributes }, peer);
  };
}

function createTokenCheck({ client, ...options }: Asking, audience: string): AuthenticateToken {
  const cached = createReviewCache<User | "unknown">({
    ...options,
    isPositive: (user) => user !== "unknown",
  });
  return (token, peer) =>
    cached(
      token,
      async () => await findUser(client, token) ?? await findUser(client, token, [audience]) ?? "unknown",
      peer,
    );
}

/** What a SubjectAccessReview asks about. */
type Attributes =
  | { resourceAttributes: Record<string, string> }
  | { nonResourceAttributes: Record<"verb" | "path", string> };

function createUserCheck(
  { client, ...options }: Asking,
): (user: User, attributes: Attributes, peer?: string) => ReturnType<AuthorizeUser> {
  const cached = createReviewCache<"allowed" | "forbidden">({
    ...options,
    isPositive: (answer) => answer === "allowed",
  });
  return (user, attributes, peer) =>
    cached(
      JSON.stringify([user.username, user.uid, user.groups, user.extra, attributes]),
      async () => await isAllowed(client, user, attributes) ? "allowed" : "forbidden",
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
  attributes: Attributes,
): Promise<boolean> {
  const { status } = await client.request<{ status?: { allowed?: boolean; denied?: boolean } }>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: username, uid, groups, extra, ...attributes },
    },
    timeoutMs,
    priority: "low",
  });
  return status?.allowed === true && status.denied !== true;
}
