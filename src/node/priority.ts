/** What an app's PriorityClass is worth. Pure. */

/** A PriorityClass, as far as its value goes. */
export interface PriorityClass {
  name: string;
  value: number;
  /** It is that of all apps which name none. */
  globalDefault: boolean;
}

/** The two that every cluster has. They are known without asking, so that critical apps stay whatever the API server does. */
export const systemClasses: readonly PriorityClass[] = [
  { name: "system-cluster-critical", value: 2_000_000_000, globalDefault: false },
  { name: "system-node-critical", value: 2_000_001_000, globalDefault: false },
];

/** The value of the class that an app names, or of the cluster's default where it names none; 0 where there is none. */
export function priorityOf(className: string | undefined, classes: readonly PriorityClass[]): number {
  if (className) return classes.find(({ name }) => name === className)?.value ?? 0;
  const defaults = classes.filter(({ globalDefault }) => globalDefault).map(({ value }) => value);
  // Of several, which the API server forbids but a race can make, the lowest, as for Pods.
  return defaults.length > 0 ? Math.min(...defaults) : 0;
}
