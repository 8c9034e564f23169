/** The current version of Kubernetes, and what an API server of a version has: the tests run against old and current ones. */

/** The version that tests run on; its digests are in download-kubernetes.ts. `install-parts.sh` reads this line. */
export const currentVersion = "1.36.4";

/** A version as `/version` returns it. */
export type KubernetesVersion = { major: number; minor: number; gitVersion: string };

/** A feature that not every API server has. */
export type Feature = "selectable-fields" | "cel" | "admission-policy";

// The first minor version of Kubernetes 1 that has it without a feature gate.
const since: Record<Feature, number> = { "cel": 25, "admission-policy": 30, "selectable-fields": 31 };

/** Reads the JSON of `/version`; some vendors write the minor version as "27+". */
export function parseVersion(body: string): KubernetesVersion {
  const { major, minor, gitVersion } = JSON.parse(body);
  return { major: parseInt(major), minor: parseInt(minor), gitVersion };
}

/** Reports whether servers of this version have the feature. */
export function hasFeature(version: KubernetesVersion, feature: Feature): boolean {
  return version.major > 1 || version.minor >= since[feature];
}
