/**
 * Reports bound apps that break a LimitRange or a ResourceQuota of their namespace: an event when it happens, and a condition for as
 * long as it lasts.
 *
 * The condition depends only on the cluster state: a change of it that another status change replaced is written with a later tick, and
 * a scheduler that takes over finds the apps that still have it.
 */
import { brokenRules, findBypasses } from "../namespaces/namespaces.ts";
import { eventTarget, type SchedulerApp } from "../types.ts";
import type { LeaderContext } from "./context.ts";
import { rulesCondition } from "./status-patch.ts";

/** Returns a function that checks the apps that count with more than before, and those that broke a rule. */
export function createRuleReporter(
  { cluster, writer, recorder, log }: Pick<LeaderContext, "cluster" | "writer" | "recorder" | "log">,
): (grown: readonly SchedulerApp[]) => void {
  const { rules, accounts: { usage } } = cluster;
  /** The keys of apps that broke a rule when they were last checked. */
  const flagged = new Set<string>();

  const recheck = (key: string) => {
    const app = cluster.apps.get(key);
    if (!app) return flagged.delete(key);
    const sum = usage.of(app.namespace);
    const others = { cpu: sum.cpu - app.cpu, mem: sum.mem - app.mem };
    const [broken] = app.nodeName && !app.finished ? brokenRules(app, rules, others) : [];
    if (!broken && !hasCondition(app)) return flagged.delete(key);
    // What else is to be written about the app goes first.
    if (!writer.isPending(key)) writer.write(key, { kind: "rules", broken });
  };

  return (grown) => {
    for (const { app, reason, message } of findBypasses(grown, rules, usage)) {
      log.warn("an app breaks a rule of its namespace", { app: app.key, message });
      recorder.record(eventTarget(app), { type: "Warning", reason, message });
      flagged.add(app.key);
    }
    for (const app of grown) if (hasCondition(app)) flagged.add(app.key);
    for (const key of [...flagged]) recheck(key);
  };
}

function hasCondition({ status }: SchedulerApp): boolean {
  return status.conditions?.some(({ type, status }) => type === rulesCondition && status === "False") ??
    false;
}
