/** The priority of an app by its PriorityClass. Pure. */

export interface PriorityClass {
  name: string;
  value: number;
  /** Applies to all apps that name no class. */
  globalDefault: boolean;
}

/** The two classes of every cluster. They are built in, so that critical apps are protected even while the API server is unreachable. */
export const systemClasses: readonly PriorityClass[] = [
  { name: "system-cluster-critical", value: 2_000_000_000, globalDefault: false },
  { name: "system-node-critical", value: 2_000_001_000, globalDefault: false },
];

/** Returns the value of the class that an app names, or of the cluster's default class if it names none; 0 without a class. */
export function priorityOf(className: string | undefined, classes: readonly PriorityClass[]): number {
  if (className) return classes.find(({ name }) => name === className)?.value ?? 0;
  const defaults = classes.filter(({ globalDefault }) => globalDefault).map(({ value }) => value);
  // The API server forbids several defaults, but a race can create them: then the lowest wins, as for Pods.
  return defaults.length > 0 ? Math.min(...defaults) : 0;
}
