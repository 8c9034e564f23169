/** Rights that count for longer than a moment: a stream asks for those of its sender again, on every listener. */
import type { Context } from "hono";
import { sleep } from "../lib/sleep.ts";
import { Refusal } from "./refusal.ts";

/** How often a long stream asks for its sender's rights again: beyond the time for which a kept answer counts. */
const defaultRecheckMs = 300_000;

/** What the check of a request leaves in its context, as the variable `access`; nothing where everyone may do it. */
export interface Access {
  /** Throws a Refusal if the sender may not do now what the request is for. */
  ask(): Promise<unknown>;
  /** How often streams do, if not as usual. */
  recheckMs?: number;
}

/** Asks for the rights of a request, and notes the answer about its connection. Until there is one, the last counts. */
export async function askAndTrust<T>(
  env: { trust?(isTrusted: boolean): void } | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    const answer = await ask();
    env?.trust?.(true);
    return answer;
  } catch (error) {
    if (!isUndecided(error)) env?.trust?.(false);
    throw error;
  }
}

/** Returns a signal that aborts with a Refusal once the sender may no longer do what it does. While nobody can tell, it goes on. */
export function endOfRights(
  context: Context,
  signal: AbortSignal,
  alsoAsk: () => Promise<unknown> = async () => {},
): AbortSignal {
  const over = new AbortController();
  const { ask, recheckMs = defaultRecheckMs }: Partial<Access> = context.get("access") ?? {};
  const recheck = async () => {
    while (ask && !over.signal.aborted) {
      await sleep(recheckMs, signal);
      if (signal.aborted) return;
      const refusal = await ask().then(alsoAsk).then(() => undefined, (error) => error);
      if (refusal instanceof Refusal && !isUndecided(refusal)) over.abort(refusal);
    }
  };
  void recheck();
  return over.signal;
}

function isUndecided(error: unknown): boolean {
  return error instanceof Refusal && error.code === 503;
}
