/// <reference lib="dom" />
import { type App, type Exit, keyOf } from "./agent.ts";
import { byId, h } from "./dom.ts";
import { ago, bytes, percent, withoutColors } from "./format.ts";
import { createLogView } from "./log-view.ts";

export interface Detail {
  key: string;
  update(app: App): void;
}

/** Shows the details of an app in a dialog, with its log. */
export function openDetail(app: App, onClose: () => void): Detail {
  const dialog = byId<HTMLDialogElement>("detail");
  const close = h("button", { type: "button" }, "Close");
  close.addEventListener("click", () => dialog.close());
  const facts = h("div");
  const log = createLogView(app);
  const update = (app: App) => {
    const { lastExit } = app.status;
    facts.replaceChildren(
      list(factsOf(app)),
      ...(lastExit ? [h("h3", {}, "Last exit"), ...describeExit(lastExit)] : []),
    );
  };
  dialog.addEventListener("close", () => {
    log.close();
    dialog.replaceChildren();
    history.replaceState(null, "", location.pathname);
    onClose();
  }, { once: true });
  const heading = h("h2", { id: "detail-heading" }, keyOf(app));
  dialog.replaceChildren(h("div", { class: "bar" }, heading, close), facts, log.element);
  update(app);
  history.replaceState(null, "", `#${keyOf(app)}`);
  dialog.showModal();
  return { key: keyOf(app), update };
}

type Fact = [name: string, value: string | undefined];

function factsOf({ spec, status, agent }: App): Fact[] {
  const share = (used: string | undefined, cap: unknown) =>
    `${percent(used)} of the node${
      cap === undefined || cap === "" ? ", no cap" : `, cap ${String(cap).replace("%", "")}%`
    }`;
  return [
    ["Phase", [status.phase, status.reason === status.phase ? "" : status.reason].filter(Boolean).join(": ")],
    ["Message", status.message],
    ["Ready", status.ready ? "yes" : "no"],
    ["Script", spec.shellFile],
    ["CPU", share(status.cpuPCT, spec.cpuPCT)],
    ["Memory", `${share(status.memPCT, spec.memPCT)} (${bytes(status.memoryBytes)})`],
    [
      "Throttled",
      Number(status.cpuThrottledPCT) > 0 ? `${percent(status.cpuThrottledPCT)} of the time` : undefined,
    ],
    ["OOM kills", status.oomKills ? String(status.oomKills) : undefined],
    ["Restarts", String(status.restarts ?? 0)],
    ["Process", status.pid === undefined ? undefined : `${status.pid}, ${status.processes ?? 1} in total`],
    ["Running for", status.startTime && ago(status.startTime, Date.now())],
    ["Next run", status.nextRun],
    ["From", agent.origin ? `${agent.source} (${agent.origin})` : agent.source],
    ...(status.conditions ?? []).map(({ type, status, reason = "", message = "" }): Fact => [
      type,
      [status, reason, message].filter(Boolean).join(", "),
    ]),
  ];
}

function describeExit(exit: Exit): HTMLElement[] {
  const signal = exit.signal ? ` (${exit.signal})` : "";
  const facts: Fact[] = [
    ["Reason", exit.reason],
    ["Status", exit.code === undefined ? "unknown" : `${exit.code}${signal}`],
    ["Started", exit.startedAt],
    ["Ended", exit.finishedAt && `${exit.finishedAt}, ${ago(exit.finishedAt, Date.now())} ago`],
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
