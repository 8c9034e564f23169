import type { NodeApp } from "../../../src/cli/agent-api/agent-api.ts";
import { startState, type TopEvent, type TopState } from "../../../src/cli/top/state.ts";
import { update } from "../../../src/cli/top/update.ts";
import { ncapp } from "../../builders.ts";

export const now = Date.parse("2026-01-01T00:10:00Z");

export function app(name: string, status: NodeApp["status"] = {}): NodeApp {
  return {
    ...ncapp({
      metadata: { name },
      spec: { shellFile: "/srv/web.sh", cpuPCT: "20", nodeName: "edge-7" },
      status: {
        phase: "Running",
        cpuPCT: "1.0",
        memPCT: "1.5",
        memoryBytes: 2 ** 20,
        startTime: "2026-01-01T00:09:00Z",
        ...status,
      },
    }),
    agent: { source: "socket" },
  };
}

/** Returns `count` apps; the first has the highest usage: app-00, app-01 and so on. */
export function manyApps(count: number): NodeApp[] {
  return Array.from(
    { length: count },
    (_, index) => app(`app-${String(index).padStart(2, "0")}`, { cpuPCT: (count - index).toFixed(1) }),
  );
}

export function stateOf(apps: NodeApp[], fields: Partial<TopState> = {}): TopState {
  const heading = ["node edge-7, agent 1.0, up 10m"];
  const start = startState({ scope: "node", none: "No apps.", heading, apps, now, columns: 80, rows: 24 });
  return { ...start, ...fields };
}

/** Returns the state after these keys or events. */
export function after(state: TopState, ...events: (string | TopEvent)[]): TopState {
  return events.reduce(
    (state, event) => update(state, typeof event === "string" ? { kind: "key", key: event } : event).state,
    state,
  );
}
