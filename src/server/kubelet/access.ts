/**
 * Decides who may do what, as the kubelet does: the user is that of a client certificate or of a bearer token, and the API server
 * says whether RBAC allows it to use a subresource of this Node. exec is remote root, so nothing here is open to anyone.
 */
import type { TLSSocket } from "node:tls";
import {
  type AuthorizeUser,
  bearerToken,
  type NodeAccess,
  unauthorized,
  unavailable,
  type User,
} from "../access.ts";
import { Refusal } from "../refusal.ts";
import type { KubeletServices } from "./services.ts";

/** What a request shows of its sender. */
export interface Sender {
  socket?: Pick<TLSSocket, "authorized" | "getPeerCertificate">;
  authorization?: string;
  peer?: string;
}

/** The verb of RBAC for a method of HTTP. */
export const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Returns the sender if it may use one of the subresources with this method; throws a Refusal otherwise. */
export async function requireAccess(
  sender: Sender,
  method: string,
  subresources: readonly string[],
  { authenticate, authorize }: Pick<KubeletServices, "authenticate" | "authorize">,
): Promise<User> {
  const user = certificateUser(sender.socket) ?? await tokenUser(sender, authenticate);
  const verb = verbs[method];
  if (verb === undefined) throw new Refusal(405, `${method} is not a method of the kubelet API`);
  const denied = await firstDenial(
    user,
    subresources.map((subresource) => ({ verb, subresource })),
    (...way) => authorize(...way, sender.peer),
  );
  if (denied) throw denied;
  return user;
}

async function firstDenial(
  user: User,
  ways: NodeAccess[],
  authorize: (user: User, way: NodeAccess) => ReturnType<AuthorizeUser>,
): Promise<Refusal | undefined> {
  for (const way of ways) {
    const verdict = await authorize(user, way);
    if (verdict === "allowed") return undefined;
    if (verdict === "unavailable") return unavailable();
  }
  const needs = ways.map(({ verb, subresource }) => `${verb} nodes/${subresource}`).join(" or ");
  return new Refusal(403, `user ${JSON.stringify(user.username)} may not ${needs}`);
}

/**
 * The user of a certificate that one of the client authorities signed: its common name; its organizations are the groups. TLS has
 * checked its end when the connection began, and a client may keep that as long as it likes.
 */
export function certificateUser(socket: Sender["socket"], now: number = Date.now()): User | undefined {
  if (socket?.authorized !== true) return undefined;
  const certificate = socket.getPeerCertificate();
  if (!(now < Date.parse(certificate?.valid_to))) return undefined;
  const subject = certificate.subject as unknown as Record<string, string | string[] | undefined> | undefined;
  const [name, organizations] = [subject?.CN, subject?.O];
  if (typeof name !== "string" || name === "") return undefined;
  const groups = organizations === undefined ? [] : [organizations].flat();
  // The API server adds this group to the users that it authenticates itself.
  return { username: name, groups: [...groups, "system:authenticated"] };
}

async function tokenUser(
  { authorization, peer }: Sender,
  authenticate: KubeletServices["authenticate"],
): Promise<User> {
  const token = bearerToken(authorization);
  const user = token === undefined ? "unknown" : await authenticate(token, peer);
  if (user === "unavailable") throw unavailable();
  if (user !== "unknown") return user;
  throw unauthorized(
    token === undefined
      ? "a client certificate of the cluster's authority or a bearer token is required"
      : "the token is unknown",
  );
}
