/**
 * Feeds what the agent shows of itself: how long starts take, and a sample of everything every ten seconds.
 */
import type { NodeState } from "../../node/node-agent.ts";
import type { Histogram } from "../../server/counters.ts";
import { totalKills } from "../../supervisor/decide/decide.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AppSample, HistoryKeeper } from "./history.ts";
import type { Meter } from "./meter.ts";

/** Measures every start that this agent makes, once. Runs that it found are not its starts. */
export function observeStarts(supervisor: Supervisor, starts: Histogram, agentStartedAt: number): void {
  const seen = new Map<string, string>();
  supervisor.listen({
    changed({ key, record: { run } }) {
      if (!run?.startedAt || run.createdAt < agentStartedAt || seen.get(key) === run.id) return;
      seen.set(key, run.id);
      starts.observe(Math.max(0, run.startedAt - run.createdAt) / 1000);
    },
    event() {},
    forgotten: ({ key }) => void seen.delete(key),
  });
}

/** Puts the present state of node and apps into the history. */
export function takeSample(
  history: HistoryKeeper,
  { supervisor, meter, node }: { supervisor: Supervisor; meter: Meter; node: { state(): NodeState } },
): void {
  const apps = new Map<string, AppSample>();
  for (const { key, record } of supervisor.list()) {
    const measured = meter.latest(key);
    const oomKills = totalKills(record, measured?.oomKills ?? 0);
    apps.set(key, { measured, oomKills, restarts: record.restarts });
  }
  history.add(node.state().usage, apps);
}
