/**
 * Shares of a node as whole thousandths of a percent, so that sums are exact and do not depend on their order: with floating
 * point, ten times 0.1 is not 1, and a full node would look free.
 */

/** All of a node. */
export const wholeNode = 100_000;
/** An app without a cap asks for nothing, but ten of them on one node are not as good as one on each of ten. */
export const leastForSpreading = 1000;

/** Thousandths of a percent, rounded up: no app gets more than was counted for it. */
export function toPoints(percent: number): number {
  // 12.3 * 1000 is 12300.000000000002, which is not to become 12301.
  return Math.ceil(percent * 1000 - 1e-6);
}

/** Percent for people and for a spec, without needless zeros: 12500 is `12.5`. */
export function formatPoints(points: number): string {
  return String(points / 1000);
}

const suffixes: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Points of a Kubernetes quantity of percent: the API server writes 12.5 as `12500m`. Undefined where it is none. */
export function parseQuantity(text: string | number | undefined): number | undefined {
  const match = /^(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,2}))?([A-Za-z]*)$/.exec(String(text ?? ""));
  const suffix = match?.[3] ?? "";
  if (!match || !Object.hasOwn(suffixes, suffix)) return undefined;
  const scale = suffixes[suffix]!;
  return toPoints(Number(match[1]) * 10 ** Number(match[2] ?? 0) * scale);
}

/** Points as a Kubernetes quantity, in the form that the API server would store. */
export function formatQuantity(points: number): string {
  return points % 1000 === 0 ? String(points / 1000) : `${points}m`;
}
