/// <reference lib="dom" />
import { describeMechanism } from "../../../api/probe-mechanisms.ts";
import type { LastExit, Probe } from "../../../api/types.ts";
import { countDown } from "../../../lib/time.ts";
import type { AppEventView } from "../../view.ts";
import { type App, keyOf } from "./agent.ts";
import { phaseText } from "./app-state.ts";
import { byId, h } from "./dom.ts";
import { ago, bytes, cap as capText, capOf, localTime, percent, withoutColors } from "./format.ts";
import { createLogView } from "./log-view.ts";

export interface Detail {
  key: string;
  update(app: App, enforced: boolean, events: AppEventView[]): void;
}

/** Shows the details of an app in a dialog, with its log. */
export function openDetail(app: App, enforced: boolean, onClose: () => void): Detail {
  const dialog = byId<HTMLDialogElement>("detail");
  const close = h("button", { type: "button" }, "Close");
  close.addEventListener("click", () => dialog.close());
  const facts = h("div");
  const log = createLogView(app);
  const update = (app: App, enforced: boolean, events: AppEventView[]) => {
    const { lastExit } = app.status;
    facts.replaceChildren(
      list(stateOf(app)),
      h("h3", {}, "Program"),
      list(specOf(app, enforced)),
      ...(lastExit ? [h("h3", {}, "Last exit"), ...describeExit(lastExit)] : []),
      ...describeEvents(events.filter((event) => event.app === keyOf(app))),
    );
  };
  dialog.addEventListener("close", () => {
    log.close();
    dialog.replaceChildren();
    history.replaceState(null, "", location.pathname + location.search);
    onClose();
  }, { once: true });
  const heading = h("h2", { id: "detail-heading" }, keyOf(app));
  dialog.replaceChildren(h("div", { class: "bar" }, heading, close), facts, log.element);
  update(app, enforced, []);
  history.replaceState(null, "", `${location.search}#${keyOf(app)}`);
  dialog.showModal();
  return { key: keyOf(app), update };
}

type Fact = [name: string, value: string | undefined];

function stateOf(app: App): Fact[] {
  const { status, agent } = app;
  const throttled = Number(status.cpuThrottledPCT) > 0
    ? `, throttled ${percent(status.cpuThrottledPCT)} of the time`
    : "";
  const started = status.startTime &&
    `${localTime(status.startTime)}, ${ago(status.startTime, Date.now())} ago`;
  return [
    ["Phase", phaseText(app)],
    ["Message", countDown(status.message ?? "", Date.now())],
    ["CPU", status.cpuPCT && `${percent(status.cpuPCT)} of the node${throttled}`],
    ["Memory", status.memPCT && `${percent(status.memPCT)} of the node, ${bytes(status.memoryBytes)}`],
    ["OOM kills", status.oomKills ? String(status.oomKills) : undefined],
    ["Restarts", String(status.restarts ?? 0)],
    ["Process", status.pid === undefined ? undefined : `${status.pid}, ${status.processes ?? 1} in total`],
    ["Started", started],
    ["Last run", localTime(status.lastRun)],
    ["Next run", localTime(status.nextRun)],
    ["From", agent.origin ? `${agent.source} (${agent.origin})` : agent.source],
    ...(status.conditions ?? []).map(({ type, status, reason = "", message = "" }): Fact => [
      type,
      [status, reason, message].filter(Boolean).join(", "),
    ]),
  ];
}

function specOf({ spec }: App, enforced: boolean): Fact[] {
  const cap = (percent: string | number | undefined) => {
    const value = capOf(percent);
    return value === undefined
      ? "no cap"
      : `${capText(value)} of the node${enforced ? "" : ", not enforced"}`;
  };
  const schedule = [spec.schedule, spec.timeZone, spec.suspend ? "suspended" : ""].filter(Boolean).join(", ");
  return [
    ["Script", spec.shellFile],
    [
      "Arguments",
      spec.args?.map((word) => /^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word)).join(" "),
    ],
    ["Folder", spec.workingDir],
    ["Environment", spec.env?.map(({ name }) => name).join(", ")],
    ["CPU limit", cap(spec.cpuPCT)],
    ["Memory limit", cap(spec.memPCT)],
    ["Process limit", spec.pidsMax?.toString()],
    ["Schedule", schedule],
    ["Restart policy", spec.restartPolicy],
    ["Liveness", probeText(spec.livenessProbe)],
    ["Readiness", probeText(spec.readinessProbe)],
    ["Startup", probeText(spec.startupProbe)],
  ];
}

function probeText(probe: Probe | undefined): string | undefined {
  if (!probe) return undefined;
  const { periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 } = probe;
  const seconds = `every ${periodSeconds} s, timeout ${timeoutSeconds} s`;
  return `${describeMechanism(probe)}, ${seconds}, fails after ${failureThreshold}`;
}

/** Returns the newest events first: the list may be long. */
function describeEvents(events: AppEventView[]): HTMLElement[] {
  if (events.length === 0) return [];
  const facts = events.toReversed().map(({ type, reason, message, count, lastTimestamp }): Fact => {
    const times = count > 1 ? ` (${count} times)` : "";
    return [
      `${localTime(lastTimestamp)}`,
      `${type === "Warning" ? "Warning: " : ""}${reason}: ${message}${times}`,
    ];
  });
  return [h("h3", {}, "Events"), list(facts)];
}

function describeExit(exit: LastExit): HTMLElement[] {
  const signal = exit.signal ? ` (${exit.signal})` : "";
  const facts: Fact[] = [
    ["Reason", exit.reason],
    ["Status", exit.code === undefined ? "unknown" : `${exit.code}${signal}`],
    ["Started", localTime(exit.startedAt)],
    ["Ended", exit.finishedAt && `${localTime(exit.finishedAt)}, ${ago(exit.finishedAt, Date.now())} ago`],
  ];
  const tail = exit.message
    ? [h("pre", { "aria-label": "Last lines before the exit" }, withoutColors(exit.message))]
    : [];
  return [list(facts), ...tail];
}

function list(facts: Fact[]): HTMLElement {
  const rows = facts.flatMap(([name, value]) => value ? [h("dt", {}, name), h("dd", {}, value)] : []);
  return h("dl", {}, ...rows);
}
