/**
 * Keeps the status and the events of local apps for their mirrors, which are created later than the apps, and which any user may
 * delete.
 *
 * Guarantees: a mirror that is found gets the last status of its app, even if the app does not change any more, and the earlier
 * events with the times at which they happened.
 * Caveat: only the last ten events of an app without a mirror are kept.
 */
import type { NCAppStatus } from "../../api/types.ts";
import type { EventNews, EventRecorder } from "../events/events.ts";
import type { ReportTarget, StatusReporter } from "../status/status.ts";

export interface LocalReports {
  /** Reports whether this app has a status. */
  has(key: string): boolean;
  report(key: string, status: NCAppStatus): void;
  record(key: string, news: EventNews): void;
  /** The mirror of an app exists, or is another object than before; `seen` is the status that it has. */
  found(key: string, mirror: ReportTarget, seen: NCAppStatus | undefined): void;
  forget(key: string): void;
}

export interface LocalReportsOptions {
  reporter: Pick<StatusReporter, "report">;
  recorder: Pick<EventRecorder, "record">;
  targetOf: (key: string) => ReportTarget | undefined;
  maxEvents?: number;
  now?: () => number;
}

export function createLocalReports(options: LocalReportsOptions): LocalReports {
  const { reporter, recorder, targetOf, maxEvents = 10, now = Date.now } = options;
  const statuses = new Map<string, NCAppStatus>();
  const unsent = new Map<string, EventNews[]>();
  return {
    has: (key) => statuses.has(key),
    report(key, status) {
      statuses.set(key, status);
      const target = targetOf(key);
      if (target) reporter.report(target, status);
    },
    record(key, news) {
      const target = targetOf(key);
      if (target) return recorder.record(target, news);
      const known = unsent.get(key) ?? [];
      unsent.set(key, [...known, { at: now(), ...news }].slice(-maxEvents));
    },
    found(key, mirror, seen) {
      const status = statuses.get(key);
      if (status) reporter.report(mirror, status, seen ?? {});
      for (const news of unsent.get(key) ?? []) recorder.record(mirror, news);
      unsent.delete(key);
    },
    forget(key) {
      statuses.delete(key);
      unsent.delete(key);
    },
  };
}
