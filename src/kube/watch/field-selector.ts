import { hasStatus } from "../kube-error.ts";

export interface FieldSelector {
  /** Lists with the selector, and without it where the server refuses it. */
  use<R>(list: (fieldSelector: string | undefined) => Promise<R>): Promise<R>;
  /** What the last list was made with; the watch after it must be made with the same. */
  current(): string | undefined;
}

/**
 * Custom resources have selectable fields since 1.31, and only those that the CRD names. A server that refuses the selector
 * is asked without it, and again with it after `retryMs`, since CRD or server may have been upgraded.
 */
export function createFieldSelector(
  text: string | undefined,
  { retryMs, now }: { retryMs: number; now: () => number },
): FieldSelector {
  let current = text;
  let tryAt = 0;
  return {
    async use(list) {
      current = now() >= tryAt ? text : undefined;
      try {
        return await list(current);
      } catch (error) {
        if (current === undefined || !isRefusal(error)) throw error;
        current = undefined;
        tryAt = now() + retryMs;
        return await list(undefined);
      }
    },
    current: () => current,
  };
}

function isRefusal(error: unknown): boolean {
  return hasStatus(error, 400) && /field label not supported/i.test(error.message);
}
