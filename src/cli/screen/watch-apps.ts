import { keyOf } from "../../api/names.ts";
import { sleep } from "../../lib/sleep.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import type { Io } from "../command.ts";
import { appTable, type Scope } from "./app-table.ts";
import { paintFor } from "./paint.ts";
import { watchScreen } from "./watch-screen.ts";

const everyMs = 1000;

/** Shows apps until the user leaves: in place on a terminal, elsewhere a line for each app and each change of its state. */
export async function watchApps(
  list: () => Promise<NodeApp[]>,
  io: Io,
  { scope, none, wide }: { scope: Scope; none: string; wide: boolean },
): Promise<void> {
  const table = (apps: NodeApp[], width: number) =>
    appTable(apps, { now: Date.now(), wide, scope, paint: paintFor(io), width });
  if (io.columns > 0) {
    const draw = async () => {
      const apps = await list();
      return apps.length === 0 ? [none] : table(apps, io.columns);
    };
    return await watchScreen(draw, io, { everyMs });
  }
  let header = true;
  for (let shown = new Map<string, string>(); !io.signal.aborted; await sleep(everyMs, io.signal)) {
    const apps = await list();
    const changed = apps.filter((app) => shown.get(keyOf(app)) !== stateOf(app));
    if (changed.length > 0) {
      io.stdout(`${table(changed, 0).slice(header ? 0 : 1).join("\n")}\n`);
      header = false;
    }
    shown = new Map(apps.map((app) => [keyOf(app), stateOf(app)]));
  }
}

/** What counts as a change: not usage and age, which always change. */
function stateOf({ status = {} }: NodeApp): string {
  const { phase, reason, message, ready, pid, restarts } = status;
  return JSON.stringify([phase, reason, message, ready, pid, restarts]);
}
