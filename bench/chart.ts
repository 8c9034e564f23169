/**
 * Draws lines into an SVG picture. Pure.
 *
 * The picture is self-contained: no script, no external font, colors for light and dark mode, and each line is named at its end,
 * so that no information depends on color alone.
 */
import { formatTick } from "./format.ts";
import { axisTicks, type Scale, scaleFor } from "./scale.ts";

/** What to draw. */
export interface Chart {
  /** File name without extension. */
  name: string;
  title: string;
  x: Axis;
  y: Axis;
  lines: Line[];
}

export interface Axis {
  label: string;
  /** Equal steps mean equal factors. */
  logarithmic?: boolean;
}

export interface Line {
  name: string;
  points: [number, number][];
}

const [width, height] = [720, 360];
const plot = { left: 72, right: 560, top: 48, bottom: 300 };

/** The whole file. */
export function renderChart({ title, x, y, lines }: Chart): string {
  const values = lines.flatMap(({ points }) => points);
  const across = scaleFor(values.map(([value]) => value), [plot.left, plot.right], x.logarithmic);
  const up = scaleFor(values.map(([, value]) => value), [plot.bottom, plot.top], y.logarithmic);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    style,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    text(plot.left, 26, title, "title"),
    ...axisTicks(across).map((value) => verticalRule(across, value)),
    ...axisTicks(up).map((value) => horizontalRule(up, value)),
    text((plot.left + plot.right) / 2, height - 14, x.label, "middle"),
    `<g transform="rotate(-90 18 ${(plot.top + plot.bottom) / 2})">`,
    text(18, (plot.top + plot.bottom) / 2, y.label, "middle"),
    "</g>",
    ...lines.map((line, at) => drawLine(line, at, across, up)),
    ...nameLines(lines, up),
    "</svg>",
    "",
  ].join("\n");
}

const style = `<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 }
  .middle { text-anchor: middle } .end { text-anchor: end }
  .ground { fill: #ffffff } .rule { stroke: #d0d7de; stroke-width: 1 }
  path { fill: none; stroke-width: 2 }
  .l0 { stroke: #0969da } .l1 { stroke: #bc4c00 } .l2 { stroke: #1a7f37 } .l3 { stroke: #8250df } .l4 { stroke: #6e7781 }
  circle.l0 { fill: #0969da } circle.l1 { fill: #bc4c00 } circle.l2 { fill: #1a7f37 } circle.l3 { fill: #8250df } circle.l4 { fill: #6e7781 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .ground { fill: #0d1117 } .rule { stroke: #30363d }
    .l0 { stroke: #58a6ff } .l1 { stroke: #ffa657 } .l2 { stroke: #56d364 } .l3 { stroke: #d2a8ff } .l4 { stroke: #8b949e }
    circle.l0 { fill: #58a6ff } circle.l1 { fill: #ffa657 } circle.l2 { fill: #56d364 } circle.l3 { fill: #d2a8ff } circle.l4 { fill: #8b949e }
  }
</style>`;

function drawLine({ points }: Line, at: number, across: Scale, up: Scale): string {
  const colour = `l${at % 5}`;
  const places = points.map(([x, y]) => `${round(across.place(x))} ${round(up.place(y))}`);
  // Few points get markers, to show which values were measured and which only join them.
  const marks = points.length > 20 ? [] : places.map((place) => {
    const [cx, cy] = place.split(" ");
    return `<circle class="${colour}" cx="${cx}" cy="${cy}" r="3"/>`;
  });
  return [`<path class="${colour}" d="M${places.join(" L")}"/>`, ...marks].join("\n");
}

/** Places names beside the ends of their lines, moved apart if they would overlap. */
function nameLines(lines: Line[], up: Scale): string[] {
  const ends = lines.map(({ name, points }, at) => ({ name, at, y: up.place(points.at(-1)?.[1] ?? 0) }))
    .sort((one, other) => one.y - other.y);
  let last = -Infinity;
  return ends.map(({ name, at, y }) => {
    last = Math.max(y, last + 17);
    return `<circle class="l${at % 5}" cx="${plot.right + 12}" cy="${round(last)}" r="4"/>` +
      text(plot.right + 20, last + 4, name);
  });
}

function verticalRule(scale: Scale, value: number): string {
  const x = round(scale.place(value));
  return `<path class="rule" d="M${x} ${plot.top} V${plot.bottom}"/>` +
    text(x, plot.bottom + 18, formatTick(value), "middle");
}

function horizontalRule(scale: Scale, value: number): string {
  const y = round(scale.place(value));
  return `<path class="rule" d="M${plot.left} ${y} H${plot.right}"/>` +
    text(plot.left - 8, y + 4, formatTick(value), "end");
}

function text(x: number, y: number, content: string, kind = ""): string {
  return `<text${kind && ` class="${kind}"`} x="${round(x)}" y="${round(y)}">${escapeText(content)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
