/** Runs the suites of a plan: one after the other in a lane, lanes side by side. */
import { type Lane, runsBesideCaps, type SuiteName } from "./suites.ts";

/**
 * Runs a lane with `run` for each suite, and returns all results. A suite that would disturb the measurements of `caps` waits for its
 * end; it must be in another lane than `caps`, or after it. `run` may wait before it starts a suite, and decides whether it still does.
 */
export async function runLanes<T>(
  plan: Lane,
  run: (name: SuiteName) => Promise<T[]>,
): Promise<T[]> {
  let measuring: Promise<unknown> = Promise.resolve();
  const runSuite = async (name: SuiteName): Promise<T[]> => {
    if (!runsBesideCaps(name)) await measuring;
    const results = run(name);
    if (name === "caps") measuring = results.catch(() => {});
    return await results;
  };
  const runLane = async (lane: Lane): Promise<T[]> => {
    const results: T[] = [];
    for (const step of lane) {
      results.push(
        ...Array.isArray(step) ? (await Promise.all(step.map(runLane))).flat() : await runSuite(step),
      );
    }
    return results;
  };
  return await runLane(plan);
}
