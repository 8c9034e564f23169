/**
 * The description of an app as text, in the style of kubectl. Pure.
 *
 * Guarantees: no secrets are shown, also for an app from the API server: values of the environment, kubectl's copy of the manifest,
 * and the password and query of URLs are left out.
 */
import { lastAppliedAnnotation } from "../../api/names.ts";
import { describeMechanism } from "../../api/probe-mechanisms.ts";
import { showURL } from "../../api/shown-spec.ts";
import type { Probe } from "../../api/types.ts";
import { countDown } from "../../lib/time.ts";
import { ageOf, usage } from "./app-table.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { type Paint, printable, printableLine, stateColor } from "./paint.ts";
import { formatTable } from "./table.ts";

type Row = [string, string | undefined];

export function describeApp(app: NodeApp, now: number, paint: Paint = (_, text) => text): string[] {
  const { metadata, spec, status = {}, agent = {} } = app;
  const { [lastAppliedAnnotation]: _, ...annotations } = metadata.annotations ?? {};
  return [
    ...rows("", [
      ["Name", metadata.name],
      ["Namespace", metadata.namespace],
      ["Node", spec.nodeName],
      ["Source", [agent.source, agent.origin].filter(Boolean).join(", ")],
      ["Labels", pairs(metadata.labels)],
      ["Annotations", pairs(annotations)],
      ["Phase", status.phase ?? "unknown"],
      ["Reason", status.reason === status.phase ? undefined : status.reason],
      ["Message", countDown(status.message ?? "", now)],
      ["Log file", agent.logFile],
    ], (label, value) => label === "Phase" ? paint(stateColor(status), value) : value),
    "Program:",
    ...rows("  ", programRows(app)),
    "Limits:",
    ...rows("  ", [
      ["CPU", cap(spec.cpuPCT, "all CPUs")],
      ["Memory", cap(spec.memPCT, "the memory")],
      ["Processes", spec.pidsMax?.toString()],
      ["Out of memory", spec.oomPolicy === "Process" ? "kill one process" : "kill all processes"],
    ]),
    "Lifecycle:",
    ...rows("  ", [
      ["Restart", spec.restartPolicy],
      ["Grace", `${spec.terminationGracePeriodSeconds ?? 30}s`],
      ["Deadline", spec.activeDeadlineSeconds === undefined ? undefined : `${spec.activeDeadlineSeconds}s`],
      ["Stop file", spec.stopFile],
      ["Stop signal", stopSignal(spec)],
      ["Update", update(spec.update)],
      ["Reload", spec.reloadSignal ?? spec.reloadCommand?.join(" ")],
      ["Schedule", [spec.schedule, spec.timeZone].filter(Boolean).join(" ")],
      ["Suspended", spec.suspend ? "yes" : undefined],
      ["Allow exec", spec.allowExec ? "yes" : undefined],
      ["Liveness", probe(spec.livenessProbe)],
      ["Readiness", probe(spec.readinessProbe)],
      ["Startup", probe(spec.startupProbe)],
    ]),
    "State:",
    ...rows("  ", stateRows(app, now)),
    ...lastExitLines(status.lastExit, now),
    ...conditionLines(status.conditions, now),
  ];
}

function programRows({ spec }: NodeApp): Row[] {
  return [
    ["Script", showURL(spec.shellFile || "none")],
    ["SHA-256", spec.shellFileSHA256],
    [
      "Arguments",
      spec.args?.map((word) => /^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word)).join(" "),
    ],
    ["Folder", spec.workingDir],
    ["User", [spec.runAsUser, spec.runAsGroup].filter((id) => id !== undefined && id !== "").join(":")],
    ["Env file", spec.envFile],
    ["Environment", spec.env?.map(({ name }) => name).join(", ")],
  ];
}

function stateRows({ spec, status = {} }: NodeApp, now: number): Row[] {
  const throttled = status.cpuThrottledPCT ? `, throttled ${status.cpuThrottledPCT}% of the time` : "";
  const bytes = status.memoryBytes === undefined ? "" : ` (${mebibytes(status.memoryBytes)})`;
  return [
    ["Ready", status.ready ? "True" : "False"],
    ["PID", status.pid?.toString()],
    ["Processes", status.processes?.toString()],
    ["Started", status.startTime && `${status.startTime} (${ageOf(status.startTime, now)} ago)`],
    ["CPU", status.cpuPCT && usage(status.cpuPCT, spec.cpuPCT) + throttled],
    ["Memory", status.memPCT && usage(status.memPCT, spec.memPCT) + bytes],
    ["Restarts", String(status.restarts ?? 0)],
    ["OOM kills", String(status.oomKills ?? 0)],
    ["Version", versions(status.revisions)],
    ["Last run", status.lastRun],
    ["Last success", status.lastSuccess],
    ["Next run", status.nextRun],
  ];
}

function update(how: NodeApp["spec"]["update"]): string | undefined {
  if (!how) return undefined;
  const { minReadySeconds = 10, progressDeadlineSeconds = 600, onFailure = "Keep" } = how;
  return `${onFailure}, good after ${minReadySeconds}s, within ${progressDeadlineSeconds}s`;
}

/** The version in force, and one that is refused. */
function versions(
  [current, ...others]: NonNullable<NodeApp["status"]>["revisions"] = [],
): string | undefined {
  if (!current) return undefined;
  const refused = others.find(({ state }) => state === "Refused");
  const shown = `${current.revision}, ${current.state?.toLowerCase()}`;
  return refused ? `${shown}; ${refused.revision} is refused: ${refused.reason}` : shown;
}

function lastExitLines(exit: NonNullable<NodeApp["status"]>["lastExit"], now: number): string[] {
  if (!exit) return [];
  const code = exit.code === undefined ? "unknown" : String(exit.code);
  return [
    "Last exit:",
    ...rows("  ", [
      ["Code", exit.signal ? `${code} (${exit.signal})` : code],
      ["Reason", exit.reason],
      ["Started", exit.startedAt],
      ["Finished", exit.finishedAt && `${exit.finishedAt} (${ageOf(exit.finishedAt, now)} ago)`],
    ]),
    ...(exit.message
      ? ["  Message:", ...exit.message.split("\n").map((line) => `    ${printable(line)}`)]
      : []),
  ];
}

function conditionLines(conditions: NonNullable<NodeApp["status"]>["conditions"], now: number): string[] {
  if (!conditions?.length) return [];
  const table = conditions.map(({ type, status, reason = "", message = "", lastTransitionTime }) =>
    [
      type,
      status,
      reason,
      ageOf(lastTransitionTime, now),
      message,
    ].map(printableLine)
  );
  const lines = formatTable([["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"], ...table]);
  return ["Conditions:", ...lines.map((line) => `  ${line}`)];
}

/** Formats labels with values, without those that are absent or empty; `show` may color a value. */
function rows(
  indent: string,
  all: Row[],
  show: (label: string, value: string) => string = (_, value) => value,
): string[] {
  const known = all.filter(([, value]) => value !== undefined && value !== "");
  const cells = known.map(([label, value = ""]) => [`${label}:`, show(label, printableLine(value))]);
  return formatTable(cells).map((line) => indent + line);
}

function pairs(values: Record<string, string> | undefined): string {
  return Object.entries(values ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");
}

function cap(percent: string | number | undefined, whole: string): string {
  return percent === undefined || percent === ""
    ? "no cap"
    : `${String(percent).replace("%", "")}% of ${whole} of the node`;
}

/** Only what differs from the usual. */
function stopSignal({ stopSignal = "SIGTERM", stopTarget }: NodeApp["spec"]): string | undefined {
  if (stopTarget === "Main") return `${stopSignal}, to the main process`;
  return stopSignal === "SIGTERM" ? undefined : stopSignal;
}

function probe(probe: Probe | undefined): string | undefined {
  if (!probe) return undefined;
  const { periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 } = probe;
  const what = describeMechanism(probe);
  return `${what} every ${periodSeconds}s, timeout ${timeoutSeconds}s, fails after ${failureThreshold}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
