/**
 * Shares of a node in points, whole thousandths of a percent, so that sums are exact in any order: with floating point, ten times 0.1
 * is not 1, and a full node would seem to have capacity.
 */

export const wholeNode = 100_000;
/** What an app without a cap counts in scores: ten of them should run on ten nodes rather than on one. */
export const leastForSpreading = 5000;

/** The shares of a node, and their fields in a spec. */
export const shares = [["cpu", "cpuPCT"], ["mem", "memPCT"]] as const;

/** Converts percent to points, rounded up, so that no app gets more than was counted. */
export function toPoints(percent: number): number {
  // 12.3 * 1000 is 12300.000000000002, which must not become 12301.
  return Math.ceil(percent * 1000 - 1e-6);
}

/** Formats points as percent: 12500 is `12.5`. */
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

/** Parses a Kubernetes quantity of percent to points: the API server writes 12.5 as `12500m`. Undefined if it is not a quantity. */
export function parseQuantity(text: string | number | undefined): number | undefined {
  const match = /^(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,2}))?([A-Za-z]*)$/.exec(String(text ?? ""));
  const suffix = match?.[3] ?? "";
  if (!match || !Object.hasOwn(suffixes, suffix)) return undefined;
  const scale = suffixes[suffix]!;
  return toPoints(Number(match[1]) * 10 ** Number(match[2] ?? 0) * scale);
}

/** Formats points as a Kubernetes quantity, in the canonical form that the API server stores. */
export function formatQuantity(points: number): string {
  return points % 1000 === 0 ? String(points / 1000) : `${points}m`;
}
