import { hasStatus } from "../kube-error.ts";

export interface FieldSelector {
  /** Lists with the selector, or without it if the server rejects it. */
  use<R>(list: (fieldSelector: string | undefined) => Promise<R>): Promise<R>;
  /** The selector of the last list; the watch after it must use the same. */
  current(): string | undefined;
}

/**
 * Custom resources have selectable fields since 1.31, and only those that the CRD names. If a server rejects the selector, lists
 * omit it, and use it again after `retryMs`, since the CRD or the server may have been upgraded.
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
        if (current === undefined || !isSelectorRefusal(error)) throw error;
        current = undefined;
        tryAt = now() + retryMs;
        return await list(undefined);
      }
    },
    current: () => current,
  };
}

export function isSelectorRefusal(error: unknown): boolean {
  return hasStatus(error, 400) && /field label not supported/i.test(error.message);
}
