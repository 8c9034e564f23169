/** Who sends a request, and whether that user may do it: the two questions that the API server answers for the agent. */

/** A user as the API server knows it. */
export interface User {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Finds the user of a token; `unavailable` while the API server cannot be asked. */
export type AuthenticateToken = (token: string) => Promise<User | "unknown" | "unavailable">;

/** What a user wants of this node: `create` of `nodes/proxy`. */
export interface NodeAccess {
  verb: string;
  subresource: string;
}

export type AuthorizeUser = (
  user: User,
  access: NodeAccess,
) => Promise<"allowed" | "forbidden" | "unavailable">;

/** The token of an `Authorization` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([^ ]+) *$/i.exec(header ?? "")?.[1];
}
