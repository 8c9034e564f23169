/**
 * What there is to say of local apps. Their mirrors come later than they do, and anybody may delete one.
 *
 * Guarantees: a mirror that is found gets the last status of its app, though the app changes no more, and the events that came
 * before it with the times at which they happened.
 * Caveat: of an app without a mirror the last ten events are kept.
 */
import type { NCAppStatus } from "../../api/types.ts";
import type { EventNews, EventRecorder } from "../events/events.ts";
import type { ReportedApp, StatusReporter } from "../status/status.ts";

export interface LocalReports {
  /** Whether a status of this app was reported already. */
  has(key: string): boolean;
  report(key: string, status: NCAppStatus): void;
  record(key: string, news: EventNews): void;
  /** The mirror of an app is there, or is another object than before; `seen` is the status that it has. */
  found(key: string, mirror: ReportedApp, seen: NCAppStatus | undefined): void;
  /** The app is gone. */
  forget(key: string): void;
}

export interface LocalReportsOptions {
  reporter: Pick<StatusReporter, "report">;
  recorder: Pick<EventRecorder, "record">;
  /** The mirror of an app, where there is one. */
  targetOf: (key: string) => ReportedApp | undefined;
  maxEvents?: number;
  now?: () => number;
}

/** Makes the keeper of what mirrors have to be told. */
export function createLocalReports(options: LocalReportsOptions): LocalReports {
  const { reporter, recorder, targetOf, maxEvents = 10, now = Date.now } = options;
  const statuses = new Map<string, NCAppStatus>();
  const untold = new Map<string, EventNews[]>();
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
      const known = untold.get(key) ?? [];
      untold.set(key, [...known, { at: now(), ...news }].slice(-maxEvents));
    },
    found(key, mirror, seen) {
      const status = statuses.get(key);
      if (status) reporter.report(mirror, status, seen ?? {});
      for (const news of untold.get(key) ?? []) recorder.record(mirror, news);
      untold.delete(key);
    },
    forget(key) {
      statuses.delete(key);
      untold.delete(key);
    },
  };
}
