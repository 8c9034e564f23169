/**
 * How often properties are tried, and in which worlds: the same in every run, so that a change is judged by the same worlds as the
 * code before it. PROPERTY_SEED and PROPERTY_RUNS search in others:
 *
 *   PROPERTY_SEED=1 PROPERTY_RUNS=5000 node_modules/.bin/node --test test/scheduler/state/holding.test.ts
 */
import process from "node:process";
import fc from "fast-check";

const { PROPERTY_SEED = "20261117", PROPERTY_RUNS } = process.env;
const isDeno = "deno" in process.versions;

/**
 * The settings of a property that is tried in `count` worlds. Code that only computes needs to be seen to work on Deno, not to be
 * searched for rare worlds again; a property of code that depends on the runtime says how many it needs there.
 */
export function runs(count: number, onDeno = Math.ceil(count / 8)): { numRuns: number; seed: number } {
  return { numRuns: Number(PROPERTY_RUNS ?? (isDeno ? onDeno : count)), seed: Number(PROPERTY_SEED) };
}

/** The usual value, or in `percent` of all cases a rare one, which shrinks to the usual one. */
export function mostly<T>(usual: T, percent: number, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 100 - percent, arbitrary: fc.constant(usual) },
    { weight: percent, arbitrary: rare },
  );
}
