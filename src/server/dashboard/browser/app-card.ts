/// <reference lib="dom" />
import { type App, keyOf } from "./agent.ts";
import { messageOf, phaseText, toneOf } from "./app-state.ts";
import { createChart } from "./chart.ts";
import { h, setText } from "./dom.ts";
import { ago, bytes, capOf, percent } from "./format.ts";
import type { Timeline } from "./timeline.ts";

export interface AppCard {
  element: HTMLElement;
  update(app: App, timeline: Timeline | undefined, enforced: boolean): void;
}

/** Returns an app of the list: its state in a line, its usage in two charts. */
export function createAppCard(key: string, open: () => void): AppCard {
  const name = h("button", { class: "name", type: "button", "aria-haspopup": "dialog" }, key);
  name.addEventListener("click", open);
  const phase = h("span", { class: "chip" });
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
    update(app, timeline, enforced) {
      const { spec, status } = app;
      const tone = toneOf(app);
      element.className = `card ${tone}`;
      phase.className = `chip ${tone}`;
      setText(phase, phaseText(app));
      setText(facts, factsOf(app));
      setText(message, messageOf(app));
      message.className = tone === "bad" ? "note bad" : "note";
      message.hidden = message.textContent === "";
      const series = timeline?.apps[keyOf(app)];
      const { last = 0, at, periodSeconds } = timeline ?? {};
      const { throttledPCT, oomKills, restarts } = series ?? {};
      // A line that nothing holds the app to would mislead.
      const capLine = (cap: string | number | undefined) => enforced ? capOf(cap) : undefined;
      const time = { last, at, periodSeconds };
      cpu.update(series?.cpuPCT ?? [], capLine(spec.cpuPCT), { ...time, throttledPCT, restarts });
      memory.update(series?.memPCT ?? [], capLine(spec.memPCT), { ...time, oomKills });
      // An app that never ran would show two empty boxes.
      charts.hidden = status.phase !== "Running" && !series?.memPCT.some((value) => value !== null);
    },
  };
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
