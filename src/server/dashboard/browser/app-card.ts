/// <reference lib="dom" />
import { type App, keyOf } from "./agent.ts";
import { createChart } from "./chart.ts";
import { h, setText } from "./dom.ts";
import { ago, bytes, capOf, percent } from "./format.ts";
import type { Timeline } from "./timeline.ts";

export interface AppCard {
  element: HTMLElement;
  update(app: App, timeline: Timeline | undefined): void;
}

const badPhases = ["BackOff", "Failed", "Unknown"];

/** Returns an app of the list: its state in a line, its usage in two charts. */
export function createAppCard(app: App, open: () => void): AppCard {
  const name = h("button", { class: "name", type: "button", "aria-haspopup": "dialog" }, keyOf(app));
  name.addEventListener("click", open);
  const phase = h("span", { class: "phase" });
  const facts = h("p", { class: "note" });
  const message = h("p", { class: "note" });
  const [cpu, memory] = [createChart("CPU"), createChart("Memory")];
  const charts = h("div", { class: "charts" }, cpu.element, memory.element);
  const element = h(
    "li",
    { class: "card" },
    h("div", { class: "head" }, name, phase),
    facts,
    message,
    charts,
  );
  return {
    element,
    update(app, timeline) {
      const { spec, status } = app;
      const isBad = badPhases.includes(status.phase ?? "");
      element.className = isBad ? "card bad" : "card";
      phase.className = `phase ${isBad ? "bad" : status.ready ? "good" : ""}`;
      setText(phase, phaseText(app));
      setText(facts, factsOf(app));
      setText(message, messageOf(app));
      message.className = isBad ? "note bad" : "note";
      message.hidden = message.textContent === "";
      const series = timeline?.apps[keyOf(app)];
      const last = timeline?.last ?? 0;
      const { throttledPCT, oomKills, restarts } = series ?? {};
      cpu.update(series?.cpuPCT ?? [], capOf(spec.cpuPCT), { last, throttledPCT, restarts });
      memory.update(series?.memPCT ?? [], capOf(spec.memPCT), { last, oomKills });
      // An app that never ran would show two empty boxes.
      charts.hidden = status.phase !== "Running" && !series?.memPCT.some((value) => value !== null);
    },
  };
}

/** Returns a sort key: apps that need attention come first. */
export function urgency({ status }: App): number {
  if (badPhases.includes(status.phase ?? "")) return 0;
  return status.phase === "Running" && !status.ready ? 1 : 2;
}

function phaseText({ status }: App): string {
  const { phase = "Unknown", reason, ready } = status;
  if (phase === "Running") return ready ? "Running, ready" : "Running, not ready";
  return reason && reason !== phase ? `${phase}: ${reason}` : phase;
}

function factsOf({ status, agent }: App): string {
  const { restarts = 0, oomKills = 0, memoryBytes, startTime, cpuThrottledPCT } = status;
  return [
    startTime ? `up ${ago(startTime, Date.now())}` : "",
    `${restarts} ${restarts === 1 ? "restart" : "restarts"}`,
    memoryBytes === undefined ? "" : bytes(memoryBytes),
    Number(cpuThrottledPCT) > 0 ? `throttled ${percent(cpuThrottledPCT)}` : "",
    oomKills > 0 ? `${oomKills} OOM ${oomKills === 1 ? "kill" : "kills"}` : "",
    `from ${agent.source}`,
  ].filter(Boolean).join(" · ");
}

function messageOf({ status }: App): string {
  if (status.phase === "Running" || status.phase === "Succeeded") return "";
  return status.message ?? "";
}
