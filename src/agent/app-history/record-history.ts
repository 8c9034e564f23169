/** What is written to the history of apps: every event, every removal, and what apps used in five minutes. */
import type { Logger } from "../../lib/log.ts";
import type { AppSeries, History } from "../../server/view.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AppHistory } from "./history-store.ts";

/** After so many removals, what they left is looked at again. */
const removalsPerPrune = 50;

/** Records events from now on. Returns a function that removes what is too old or too much of apps that were removed. */
export function recordHistory(history: AppHistory, supervisor: Supervisor, log: Logger): () => Promise<void> {
  let removals = 0;
  const prune = async () => {
    removals = 0;
    await history.prune(supervisor.list().map(({ key }) => key)).catch((error) =>
      log.warn("cannot remove the histories of apps that are gone", { error })
    );
  };
  supervisor.listen({
    changed() {},
    event: ({ key }, { type, reason, message, exit }) => history.add(key, { type, reason, message, exit }),
    forgotten({ key }) {
      const message = "The app was removed from this node";
      history.add(key, { type: "Normal", reason: "Deleted", message });
      if (++removals >= removalsPerPrune) void prune();
    },
  });
  return prune;
}

/** Records what each app used, on average and at most, by the samples of the charts. */
export function recordUsage(history: AppHistory, { apps }: Pick<History, "apps">): void {
  for (const [key, series] of Object.entries(apps)) {
    const usage = summarize(series);
    if (usage.memPCT !== undefined) history.add(key, { usage });
  }
}

function summarize({ cpuPCT, memPCT, throttledPCT = [] }: AppSeries) {
  const known = (values: (number | null)[]) => values.filter((value) => value !== null);
  const mean = (values: number[]) =>
    values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined;
  const memory = known(memPCT);
  return {
    cpuPCT: mean(known(cpuPCT)),
    memPCT: memory.length > 0 ? Math.max(...memory) : undefined,
    throttledPCT: mean(known(throttledPCT)),
  };
}
