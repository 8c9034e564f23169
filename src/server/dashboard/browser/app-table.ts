/// <reference lib="dom" />
import { type App, keyOf } from "./agent.ts";
import { messageOf, phaseText, toneOf } from "./app-state.ts";
import { h, setText, showParts } from "./dom.ts";
import { ago, cap as capText, capOf, percent } from "./format.ts";
import type { SortName, ViewState } from "./view-state.ts";

export interface AppTable {
  element: HTMLElement;
  update(apps: App[], view: ViewState, enforced: boolean): void;
}

interface Column {
  title: string;
  sort?: SortName;
  /** Right-aligned. */
  figure?: boolean;
  text(app: App, enforced: boolean): string;
}

const columns: Column[] = [
  { title: "App", sort: "name", text: keyOf },
  { title: "Phase", sort: "attention", text: phaseText },
  {
    title: "CPU",
    sort: "cpu",
    figure: true,
    text: ({ spec, status }, enforced) => share(status.cpuPCT, spec.cpuPCT, enforced),
  },
  {
    title: "Memory",
    sort: "memory",
    figure: true,
    text: ({ spec, status }, enforced) => share(status.memPCT, spec.memPCT, enforced),
  },
  { title: "Restarts", sort: "restarts", figure: true, text: ({ status }) => String(status.restarts ?? 0) },
  {
    title: "Up",
    sort: "started",
    figure: true,
    text: ({ status }) => status.startTime ? ago(status.startTime, Date.now()) : "–",
  },
  { title: "Message", text: (app) => messageOf(app) },
];

/** Returns a compact list for nodes with many apps. A title sorts by its column, and a second time reverses the order. */
export function createAppTable(open: (key: string) => void, sortBy: (sort: SortName) => void): AppTable {
  const heads = columns.map(({ title, sort, figure }) => {
    const cell = h("th", { scope: "col", class: figure ? "figure" : undefined });
    if (!sort) cell.append(title);
    else {
      const button = h("button", { type: "button", class: "sort" }, title);
      button.addEventListener("click", () => sortBy(sort));
      cell.append(button);
    }
    return cell;
  });
  const body = h("tbody");
  const element = h(
    "div",
    { class: "scroll card" },
    h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body),
  );
  const rows = new Map<string, Row>();
  return {
    element,
    update(apps, view, enforced) {
      columns.forEach(({ sort }, index) => {
        const order = sort !== view.sort ? "none" : view.reverse ? "ascending" : "descending";
        if (sort) heads[index]!.setAttribute("aria-sort", order);
      });
      showParts(body, rows, apps.map(keyOf), (key) => createRow(key, open))
        .forEach((row, index) => row.update(apps[index]!, enforced));
    },
  };
}

interface Row {
  element: HTMLElement;
  update(app: App, enforced: boolean): void;
}

function createRow(key: string, open: (key: string) => void): Row {
  const name = h("button", { class: "name", type: "button", "aria-haspopup": "dialog" }, key);
  name.addEventListener("click", () => open(key));
  const chip = h("span", { class: "chip" });
  const cells = columns.map(({ figure }, index) =>
    h("td", { class: figure ? "figure" : undefined }, index === 0 ? name : index === 1 ? chip : undefined)
  );
  return {
    element: h("tr", {}, ...cells),
    update(app, enforced) {
      chip.className = `chip ${toneOf(app)}`;
      columns.forEach(({ text }, index) => {
        if (index > 0) setText(index === 1 ? chip : cells[index]!, text(app, enforced));
      });
      // A long message is cut to keep the table compact.
      cells.at(-1)!.title = messageOf(app);
    },
  };
}

function share(used: string | undefined, cap: string | number | undefined, enforced: boolean): string {
  const limit = enforced ? capOf(cap) : undefined;
  return limit === undefined || used === undefined ? percent(used) : `${percent(used)} of ${capText(limit)}`;
}
