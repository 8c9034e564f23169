import type { NCApp } from "../../../../src/api/types.ts";
import type { Evidence, Invariant } from "../evidence.ts";
import { kinds } from "../kinds.ts";
import type { StormApp } from "../ledger.ts";
import type { Story } from "../witness.ts";

/**
 * The API server's status of the last exit of an app matches the app's own record, each exit is counted, and an app that ended
 * for good did not run again.
 */
export const exitCodes: Invariant = {
  name: "no exit code lost",
  judge(evidence) {
    return evidence.apps.filter(({ excused }) => !excused).flatMap((app) => {
      const object = evidence.objects.find(({ metadata }) => metadata.uid === app.uid);
      const stories = evidence.stories.filter(({ uid }) => uid === app.uid);
      return object ? complain(app, object, stories, evidence) : [];
    });
  },
};

function complain(app: StormApp, { status }: NCApp, stories: Story[], { live }: Evidence): string[] {
  const { rest, runs = 0 } = kinds[app.kind];
  const wasDisturbed = app.asks.length > 0;
  const alive = new Set(live.map(({ run }) => run));
  const ended = stories.filter(({ run }) => !alive.has(run));
  const said = ended.at(-1)?.end;
  const told = status?.lastExit;
  const complaints: string[] = [];
  const add = (what: string) => complaints.push(`${app.name}: ${what}`);
  if (said !== undefined && rest !== "cycles" && told?.code !== said) {
    add(`ended with ${said}, but the status says ${told?.code} (${told?.reason})`);
  }
  if (rest === "cycles" && !wasDisturbed) {
    if (ended.length > 0 && told?.code !== kinds[app.kind].code) {
      add(`ends with ${kinds[app.kind].code}, but the status says ${told?.code} (${told?.reason})`);
    }
    // The latest run may have started, or ended, since the status was read.
    const restarts = stories.length - 1;
    if (Math.abs((status?.restarts ?? 0) - restarts) > 1) {
      add(`was started ${stories.length} times, but the status says ${status?.restarts} restarts`);
    }
  }
  if (rest === "ends" && !wasDisturbed && stories.length > runs) {
    add(`ran ${stories.length} times: ${stories.map(({ end }) => end).join(", ")}`);
  }
  return complaints;
}
