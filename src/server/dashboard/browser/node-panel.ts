/// <reference lib="dom" />
import type { StatusAnswer } from "../../view.ts";
import { createChart } from "./chart.ts";
import { byId, h, setText } from "./dom.ts";
import { ago, bytes } from "./format.ts";
import type { Timeline } from "./timeline.ts";

export interface NodePanel {
  update(status: StatusAnswer, timeline: Timeline | undefined): void;
}

/** Returns the panel of the node: capacity, usage, and the agent's problems. */
export function createNodePanel(): NodePanel {
  const facts = h("p", { class: "note" });
  const summary = h("summary");
  const more = h("ul");
  const problems = h("details", { class: "note bad" }, summary, more);
  const [cpu, memory] = [createChart("CPU", 100), createChart("Memory", 100)];
  byId("node").append(facts, problems, h("div", { class: "charts" }, cpu.element, memory.element));
  return {
    update(status, timeline) {
      setText(byId("node-name"), status.node);
      document.title = `${status.node} · NC-Kubelet`;
      setText(facts, factsOf(status));
      const lines = problemsOf(status);
      setText(summary, problemSentence(lines));
      if (lines.join() !== [...more.children].map(({ textContent }) => textContent).join()) {
        more.replaceChildren(...lines.map((line) => h("li", {}, line)));
      }
      problems.hidden = lines.length === 0;
      const { last = 0, at, periodSeconds } = timeline ?? {};
      cpu.update(timeline?.node.cpuPCT ?? [], undefined, { last, at, periodSeconds });
      memory.update(timeline?.node.memPCT ?? [], undefined, { last, at, periodSeconds });
    },
  };
}

function factsOf({ version, size, usage, limits, startedAt }: StatusAnswer): string {
  return [
    `agent ${version}, up ${ago(startedAt, Date.now())}`,
    `${size.cpus} CPUs`,
    `${bytes(size.memoryBytes)} of memory`,
    usage?.disk ? `${bytes(usage.disk.availableBytes)} of ${bytes(usage.disk.totalBytes)} disk free` : "",
    limits.enforced ? "caps are enforced" : "caps are not enforced",
  ].filter(Boolean).join(" · ");
}

/** Returns what is wrong with the agent or the node, a sentence each. */
export function problemsOf(
  { checks, problems, limits }: Pick<StatusAnswer, "checks" | "problems" | "limits">,
): string[] {
  const isKnown = limits.enforced || checks.some(({ name, ok }) => name === "cgroups" && !ok);
  return [
    ...checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`),
    ...problems.map(({ message }) => message),
    ...(isKnown ? [] : [`caps are not enforced: ${limits.message}`]),
  ];
}

/** Returns all problems as one sentence, with what to do. */
export function problemSentence(problems: string[]): string {
  const [first = "", ...others] = problems;
  const what = others.length === 0 ? "" : `${problems.length} problems, the first: `;
  return `${what}${first.replace(/[.;\s]+$/, "")}; “nckubelet doctor” on the node says what to do.`;
}
