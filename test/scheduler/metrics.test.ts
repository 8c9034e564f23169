import assert from "node:assert/strict";
import { test } from "node:test";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";

test("the metrics have decisions, binds, queues and nodes", async () => {
  const metrics = createSchedulerMetrics();
  metrics.decided("bound", 0.05);
  metrics.wrote("outdated");
  metrics.evicted("NodeLost");
  const text = await metrics.render({
    leader: true,
    queues: { active: 1, backoff: 2, parked: 3 },
    nodes: { fresh: 5, stale: 0, none: 1 },
    apps: 7,
    namespacesOverQuota: 2,
  });
  for (
    const line of [
      'nckubelet_scheduler_decision_duration_seconds_count{result="bound"} 1',
      'nckubelet_scheduler_binds_total{result="outdated"} 1',
      'nckubelet_scheduler_evictions_total{reason="NodeLost"} 1',
      "nckubelet_scheduler_leader 1",
      'nckubelet_scheduler_pending_apps{queue="parked"} 3',
      'nckubelet_scheduler_nodes{agent="fresh"} 5',
      "nckubelet_scheduler_apps 7",
      "nckubelet_scheduler_namespaces_over_quota 2",
    ]
  ) assert.ok(text.includes(line), `${line} is not in\n${text}`);
});
