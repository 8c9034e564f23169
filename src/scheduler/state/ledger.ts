import type { Points } from "../namespaces/namespaces.ts";
import type { SchedulerApp } from "../types.ts";

/** The points of each namespace's bound apps, kept as apps come and go. */
export class NamespaceUsage {
  readonly #sums = new Map<string, Points & { apps: number }>();

  of(namespace: string): Points {
    const { cpu, mem } = this.#sums.get(namespace) ?? { cpu: 0, mem: 0 };
    return { cpu, mem };
  }

  add(app: SchedulerApp): void {
    this.#count(app, 1);
  }

  subtract(app: SchedulerApp): void {
    this.#count(app, -1);
  }

  #count({ namespace, cpu, mem }: SchedulerApp, sign: 1 | -1): void {
    const { cpu: cpuBefore, mem: memBefore, apps } = this.#sums.get(namespace) ?? { cpu: 0, mem: 0, apps: 0 };
    const after = { cpu: cpuBefore + sign * cpu, mem: memBefore + sign * mem, apps: apps + sign };
    if (after.apps === 0) this.#sums.delete(namespace);
    else this.#sums.set(namespace, after);
  }
}
