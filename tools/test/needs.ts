/** What must be there before a suite starts, and in which order it is made. */
import { type Lane, programSuites, runsBesideCaps, type SuiteName, suiteParts } from "./suites.ts";

/** A real part by its name in install-parts.sh, or the program of this checkout. */
export type Need = string;

/** The program of this checkout, as a need. It takes the compilers. */
export const program: Need = "program";

/** What is made before `caps` measures, and what after it; all before it if it does not run. */
export interface NeedOrder {
  first: Need[];
  later: Need[];
}

/** Returns what a suite needs; `controlPlane` is the part that it runs on. */
export function needsOf(name: SuiteName, controlPlane = "control-plane"): Need[] {
  const parts = suiteParts[name].map((part) => part === "control-plane" ? controlPlane : part);
  return programSuites.includes(name) ? [...parts, program] : parts;
}

/**
 * Returns what the suites of a plan need, each once, in the order in which they need it. Nothing may be made while `caps` measures: it
 * waits for what the suites beside it need, and the rest waits for its end. A control plane is last, since it can take minutes on all
 * CPUs to build one.
 */
export function orderNeeds(plan: Lane, needs = (name: SuiteName) => needsOf(name)): NeedOrder {
  const suites = inOrderOfStart(plan);
  const all = [...new Set(suites.flatMap(needs))];
  const isLong = (need: Need) => need.startsWith("control-plane");
  const ordered = [...all.filter((need) => !isLong(need)), ...all.filter(isLong)];
  const beside = suites.includes("caps")
    ? suites.filter((name) => name === "unit" || runsBesideCaps(name)).flatMap(needs)
    : all;
  return {
    first: ordered.filter((need) => beside.includes(need)),
    later: ordered.filter((need) => !beside.includes(need)),
  };
}

/** Of lanes side by side first all first suites, then all second ones. */
function inOrderOfStart(plan: Lane): SuiteName[] {
  return plan.flatMap((step) => {
    if (!Array.isArray(step)) return [step];
    const lanes = step.map(inOrderOfStart);
    const longest = Math.max(...lanes.map((lane) => lane.length));
    return Array.from({ length: longest }, (_, at) => lanes.flatMap((lane) => lane[at] ?? [])).flat();
  });
}
