/** The checks behind `/readyz`. Pure. */
import type { RequestReport } from "../../kube/client/client.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { AgentCounters } from "../../server/counters.ts";
import type { Check } from "../../server/view.ts";
import type { Source } from "../../sources/source.ts";
import type { SupervisedApp } from "../../supervisor/supervisor.ts";

/** Fails until the source has been read, and while it cannot be followed. */
export function sourceCheck(source: Pick<Source, "name" | "health">): Check {
  const { ready, message } = source.health();
  return { name: `source-${source.name}`, ok: ready, message };
}

/** Fails where an app has limits that cannot be enforced and is therefore not started. */
export function cgroupsCheck(whyNoLimits: string, apps: Pick<SupervisedApp, "key" | "record">[]): Check {
  if (!whyNoLimits) return { name: "cgroups", ok: true, message: "limits are enforced" };
  const waiting = apps.filter(({ record }) => record.reason === "LimitsUnavailable").map(({ key }) => key);
  const message = waiting.length === 0
    ? `limits cannot be enforced; no app waits for them: ${whyNoLimits}`
    : `${shortList(waiting)} not started, limits cannot be enforced: ${whyNoLimits}`;
  return { name: "cgroups", ok: waiting.length === 0, message };
}

/** Fails while a port of `--listen` is not open; `problems` has the reason by address. */
export function portsCheck(problems: ReadonlyMap<string, string>): Check {
  const message = problems.size === 0 ? "every address is served" : [...problems.values()].join("; ");
  return { name: "listen", ok: problems.size === 0, message };
}

/** Passes while the API server answers, also with a client error. */
export function apiServerCheck(last: { report: RequestReport; at: number } | undefined, now: number): Check {
  if (!last) return { name: "api-server", ok: false, message: "no request has completed yet" };
  const { verb, resource, code } = last.report;
  const age = Math.round((now - last.at) / 1000);
  const ok = code > 0 && code < 500;
  const outcome = code === 0 ? "no answer" : `status ${code}`;
  return { name: "api-server", ok, message: `${outcome} to ${verb} ${resource} ${age} s ago` };
}

/** Fails while the API server refuses what the agent must do: it may answer, but does not have this node. */
export function authorizationCheck(refused: ReturnType<AgentCounters["refused"]>): Check {
  const name = "authorization";
  if (refused.size === 0) {
    return { name, ok: true, message: "the API server refuses nothing that the agent must do" };
  }
  const list = [...refused].map(([what, { code, since }]) => `${what} (${code}, since ${isoSeconds(since)})`)
    .join(", ");
  const why = "its credential is that of another node, or lacks a role: nckubelet doctor";
  return { name, ok: false, message: `the API server refuses the agent to ${list}; ${why}` };
}

/** Fails when the sync is three periods late: then the agent itself is stuck. */
export function syncCheck(lastSync: number, now: number, periodMs: number): Check {
  const age = Math.round((now - lastSync) / 1000);
  return { name: "sync", ok: now - lastSync < 3 * periodMs, message: `last sync ${age} s ago` };
}

function shortList(keys: string[]): string {
  const shown = keys.slice(0, 3).join(", ");
  return keys.length > 3
    ? `${shown} and ${keys.length - 3} more are`
    : `${shown} ${keys.length === 1 ? "is" : "are"}`;
}
