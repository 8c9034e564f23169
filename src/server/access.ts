/** Who sends a request, and whether that user may do it: the two questions that the API server answers for the agent. */
import type { Context } from "hono";
import { Refusal } from "./refusal.ts";
import { askAndTrust } from "./rights.ts";

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

/** What a user wants of this node: `create` of `nodes/proxy`; or of an app: `create` of `ncapps/exec`. */
export interface NodeAccess {
  verb: string;
  subresource: string;
  app?: { namespace: string; name: string };
}

export type AuthorizeUser = (
  user: User,
  access: NodeAccess,
  peer?: string,
) => Promise<"allowed" | "forbidden" | "unavailable">;

/** What the sender of a token may do here; `unknown`: the token is nobody's. */
export type Verdict = "allowed" | "unknown" | "forbidden" | "unavailable";

/** Throws a Refusal unless the request has a token that `authorize` allows. */
export async function requireToken(
  { req, env }: Pick<Context<{ Bindings: ConnectionEnv }>, "req" | "env">,
  { authorize, wanted, hint = "" }: {
    authorize(token: string, peer?: string): Promise<Verdict>;
    /** What the sender wants: `get nodes/metrics`. */
    wanted: string;
    /** Where to get a token. */
    hint?: string;
  },
): Promise<void> {
  const token = bearerToken(req.header("authorization"));
  await askAndTrust(env, async () => {
    const verdict = token === undefined ? "unknown" : await authorize(token, env?.peer);
    if (verdict === "unknown") {
      throw unauthorized(
        `${token === undefined ? "a bearer token is required" : "the token is unknown"}${hint}`,
      );
    }
    if (verdict === "forbidden") throw new Refusal(403, `the token may not ${wanted}`);
    if (verdict === "unavailable") throw unavailable();
  });
}

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
