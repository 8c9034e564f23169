/// <reference lib="dom" />
import { height, type Shape, shapeOf, width, xOf } from "./chart-shape.ts";
import { h, svg } from "./dom.ts";
import { cap as capText, percent } from "./format.ts";
import type { Series } from "./timeline.ts";

export interface Chart {
  element: HTMLElement;
  update(values: (number | null)[], cap: number | undefined, marks?: Marks): void;
}

/** Events and throttling, for the chart of the cap concerned. */
export interface Marks extends Partial<Pick<Series, "throttledPCT" | "oomKills" | "restarts">> {
  last: number;
}

/** Returns a small chart of usage and cap over the last half hour, with a text alternative. `minTop` is the scale without a cap. */
export function createChart(title: string, minTop?: number): Chart {
  const now = h("b");
  const limit = h("span");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
  const element = h("figure", {}, h("figcaption", {}, `${title} `, now, limit), picture);
  return {
    element,
    update(values, cap, marks = { last: 0 }) {
      const latest = values.at(-1);
      now.textContent = percent(latest);
      limit.textContent = cap === undefined ? "" : ` of ${capText(cap)}`;
      picture.setAttribute("aria-label", describe(title, values, cap, marks));
      picture.replaceChildren(...shapes(shapeOf(values, cap, minTop), marks));
    },
  };
}

function shapes(
  { line, area, capY }: Shape,
  { last, throttledPCT = [], restarts = [], oomKills = [] }: Marks,
) {
  const across = (sample: number, className: string) => {
    const x = String(xOf(sample, last));
    return svg("line", { class: className, x1: x, x2: x, y1: "0", y2: String(height) });
  };
  const first = last - throttledPCT.length + 1;
  return [
    svg("path", { class: "use-area", d: area }),
    ...throttledPCT.flatMap((share, index) => share ? [throttledBar(share, first + index, last)] : []),
    svg("path", { class: "use-line", d: line }),
    ...(capY === undefined
      ? []
      : [svg("line", { class: "cap-line", x1: "0", x2: String(width), y1: String(capY), y2: String(capY) })]),
    ...restarts.map((sample) => across(sample, "restart")),
    ...oomKills.map((sample) => across(sample, "oom")),
  ];
}

/** Returns a bar for the share of time that the app was throttled: from the bottom, half of the chart at most. */
function throttledBar(share: number, sample: number, last: number): SVGElement {
  const size = Math.max(2, share / 100 * height / 2);
  return svg("rect", {
    class: "throttled",
    x: String(xOf(sample, last) - 0.5),
    width: "1",
    y: String(height - size),
    height: String(size),
  });
}

function describe(title: string, values: (number | null)[], cap: number | undefined, marks: Marks): string {
  const measured = values.filter((value) => value !== null);
  const throttled = (marks.throttledPCT ?? []).filter((share) => share).length;
  return [
    `${title} ${percent(values.at(-1))} of the node now`,
    measured.length > 0 ? `at most ${percent(Math.max(...measured))} in the last half hour` : "",
    cap === undefined ? "" : `cap ${capText(cap)}`,
    throttled > 0 ? `throttled in ${throttled} samples` : "",
    marks.oomKills?.length ? `out of memory ${marks.oomKills.length} times` : "",
    marks.restarts?.length ? `restarted ${marks.restarts.length} times` : "",
  ].filter(Boolean).join(", ");
}
