import type { Logger } from "../../lib/log.ts";
import type { EventRecorder } from "../../report/events/events.ts";
import type { SchedulerMetrics } from "../metrics.ts";
import type { ClusterState } from "../state/state.ts";
import type { AppWrites } from "./app-writes.ts";
import type { StatusWriter } from "./status-writer.ts";

/** What the parts of a leader decide and write with. */
export interface LeaderContext {
  log: Logger;
  cluster: ClusterState;
  writes: AppWrites;
  writer: StatusWriter;
  recorder: Pick<EventRecorder, "record">;
  metrics: SchedulerMetrics;
  /** Called right before each write. */
  mayWrite: () => boolean;
  signal: AbortSignal;
  now?: () => number;
}
