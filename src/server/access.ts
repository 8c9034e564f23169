/** Who sends a request, and whether that user may do it: the two questions that the API server answers for the agent. */
import { Refusal } from "./refusal.ts";

/** A user as the API server knows it. */
export interface User {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** What a listener tells an app about the connection of a request. */
export interface ConnectionEnv {
  /** Where the request comes from. */
  peer?: string;
  /** Notes whether the sender may use the listener: such a connection is not closed for others. */
  trust?(isTrusted: boolean): void;
}

/** Finds the user of a token; `unavailable` while the API server cannot be asked. Peers take turns. */
export type AuthenticateToken = (token: string, peer?: string) => Promise<User | "unknown" | "unavailable">;

/** What a user wants of this node: `create` of `nodes/proxy`. */
export interface NodeAccess {
  verb: string;
  subresource: string;
}

export type AuthorizeUser = (
  user: User,
  access: NodeAccess,
  peer?: string,
) => Promise<"allowed" | "forbidden" | "unavailable">;

export function unauthorized(why: string): Refusal {
  return new Refusal(401, why, { headers: { "www-authenticate": 'Bearer realm="nckubelet"' } });
}

export function unavailable(): Refusal {
  return new Refusal(503, "the API server cannot review the request now", {
    headers: { "retry-after": "5" },
  });
}

/** The token of an `Authorization` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([^ ]+) *$/i.exec(header ?? "")?.[1];
}
