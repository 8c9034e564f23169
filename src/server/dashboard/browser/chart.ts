/// <reference lib="dom" />
import { height, sampleAt, type Shape, shapeOf, width, xOf } from "./chart-shape.ts";
import { h, setText, svg } from "./dom.ts";
import { cap as capText, clock, percent } from "./format.ts";
import type { AppSeries } from "../../view.ts";

export interface Chart {
  element: HTMLElement;
  update(values: (number | null)[], cap: number | undefined, marks?: Marks): void;
}

/** Events and throttling, for the chart of the cap concerned, and when the newest sample was taken. */
export interface Marks extends Partial<Pick<AppSeries, "throttledPCT" | "oomKills" | "restarts">> {
  last: number;
  at?: number;
  periodSeconds?: number;
}

/**
 * Returns a small chart of usage and cap over the last half hour, with the upper end of its scale, a text alternative, and the value
 * and time under the pointer. `minTop` is the scale without a cap.
 */
export function createChart(title: string, minTop?: number): Chart {
  const now = h("b");
  const limit = h("span");
  const top = h("span", { class: "top", "aria-hidden": "true" });
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
  const pointer = svg("line", { class: "pointer", y1: "0", y2: String(height) });
  const element = h(
    "figure",
    {},
    h("figcaption", {}, `${title} `, now, limit),
    h("div", { class: "plot" }, picture, top),
  );
  let shown: { values: (number | null)[]; cap?: number; marks: Marks } = { values: [], marks: { last: 0 } };
  /** Where the pointer is, from 0 to 1; undefined while it is elsewhere. */
  let share: number | undefined;

  const showCaption = () => {
    const { values, cap, marks } = shown;
    const hit = share === undefined ? undefined : sampleAt(share, values.length);
    pointer.remove();
    if (hit === undefined) {
      setText(now, percent(values.at(-1)));
      setText(limit, cap === undefined ? "" : ` of ${capText(cap)}`);
      return;
    }
    const { at = 0, periodSeconds = 0 } = marks;
    const x = String(xOf(marks.last - (values.length - 1 - hit), marks.last));
    pointer.setAttribute("x1", x);
    pointer.setAttribute("x2", x);
    picture.append(pointer);
    setText(now, percent(values[hit]));
    setText(limit, at ? ` at ${clock(at - (values.length - 1 - hit) * periodSeconds * 1000)}` : "");
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    share = (event.clientX - box.left) / box.width;
    showCaption();
  });
  picture.addEventListener("pointerleave", () => {
    share = undefined;
    showCaption();
  });
  return {
    element,
    update(values, cap, marks = { last: 0 }) {
      shown = { values, cap, marks };
      const shape = shapeOf(values, cap, minTop);
      picture.setAttribute("aria-label", describe(title, values, cap, marks));
      picture.replaceChildren(...shapes(shape, marks));
      setText(top, capText(shape.top));
      showCaption();
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
