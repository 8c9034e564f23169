/// <reference lib="dom" />
import type { Status } from "./agent.ts";
import { createChart } from "./chart.ts";
import { byId, h, setText } from "./dom.ts";
import { ago, bytes } from "./format.ts";
import type { Timeline } from "./timeline.ts";

export interface NodePanel {
  update(status: Status, timeline: Timeline | undefined): void;
}

/** Returns the panel of the node: capacity, usage, and the agent's problems. */
export function createNodePanel(): NodePanel {
  const facts = h("p", { class: "note" });
  const problems = h("ul", { class: "note bad" });
  const [cpu, memory] = [createChart("CPU", 100), createChart("Memory", 100)];
  byId("node").append(facts, problems, h("div", { class: "charts" }, cpu.element, memory.element));
  return {
    update(status, timeline) {
      setText(byId("node-name"), status.node);
      setText(facts, factsOf(status));
      const lines = problemsOf(status);
      if (lines.join() !== [...problems.children].map(({ textContent }) => textContent).join()) {
        problems.replaceChildren(...lines.map((line) => h("li", {}, line)));
      }
      problems.hidden = lines.length === 0;
      cpu.update(timeline?.node.cpuPCT ?? [], undefined);
      memory.update(timeline?.node.memPCT ?? [], undefined);
    },
  };
}

function factsOf({ version, size, usage, limits, startedAt }: Status): string {
  return [
    `agent ${version}, up ${ago(startedAt, Date.now())}`,
    `${size.cpus} CPUs`,
    `${bytes(size.memoryBytes)} of memory`,
    usage?.disk ? `${bytes(usage.disk.availableBytes)} of ${bytes(usage.disk.totalBytes)} disk free` : "",
    limits.enforced ? "caps are enforced" : "caps are not enforced",
  ].filter(Boolean).join(" · ");
}

function problemsOf({ checks, problems, limits }: Status): string[] {
  return [
    ...checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`),
    ...problems.map(({ message }) => message),
    ...(limits.enforced || checks.some(({ name, ok }) => name === "cgroups" && !ok) ? [] : [limits.message]),
  ];
}
