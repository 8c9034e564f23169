import type { Controller } from "../../src/kube/controller.ts";
import type { Leadership } from "../../src/kube/leader.ts";

export interface TestController extends Controller {
  /** Its terms as a leader so far. */
  terms: Leadership[];
  isWorking(): boolean;
  fail(error: Error): void;
}

/** A controller that does nothing until it is told to fail. */
export function testController(name: string, given: Partial<Controller> = {}): TestController {
  const terms: Leadership[] = [];
  let working = false;
  let fail: (error: Error) => void = () => {};
  const until = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      fail = reject;
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  return {
    name,
    terms,
    isWorking: () => working,
    fail: (error) => fail(error),
    follow: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    async lead(leadership) {
      terms.push(leadership);
      working = true;
      await until(leadership.signal).finally(() => working = false);
    },
    followers: () => [],
    metrics: async () => "",
    ...given,
  };
}
