/// <reference lib="dom" />
/** The apps of the page: cards with charts for a few, a table for many; what is shown is in the address. */
import { type App, keyOf } from "./agent.ts";
import { type AppCard, createAppCard } from "./app-card.ts";
import { toneOf } from "./app-state.ts";
import { createAppTable } from "./app-table.ts";
import { byId, h, setText, showParts } from "./dom.ts";
import type { Timeline } from "./timeline.ts";
import { phasesOf, readView, selectApps, type SortName, startView, writeView } from "./view-state.ts";

export interface AppList {
  update(apps: App[], timeline: Timeline | undefined, enforced: boolean): void;
}

/** More apps than this are a table. */
const mostCards = 12;

export function createAppList(open: (key: string) => void): AppList {
  const filter = byId<HTMLInputElement>("filter");
  const cards = new Map<string, AppCard>();
  const table = createAppTable(open, sortBy);
  byId("app-table").append(table.element);
  let view = readView(location.search);
  let last: Parameters<AppList["update"]> | undefined;
  filter.value = view.find;

  function change(fields: Partial<typeof view>): void {
    view = { ...view, ...fields };
    if (filter.value !== view.find) filter.value = view.find;
    history.replaceState(null, "", location.pathname + writeView(view) + location.hash);
    if (last) show(...last);
  }
  function sortBy(sort: SortName): void {
    change({ sort, reverse: view.sort === sort && !view.reverse });
  }
  const show: AppList["update"] = (apps, timeline, enforced) => {
    last = [apps, timeline, enforced];
    const isTable = apps.length > mostCards;
    const found = selectApps(apps, isTable ? view : { ...startView, find: view.find });
    if (isTable) table.update(found, view, enforced);
    else {
      showParts(byId("apps"), cards, found.map(keyOf), (key) => createAppCard(key, () => open(key)))
        .forEach((card, index) => card.update(found[index]!, timeline, enforced));
    }
    byId("apps").hidden = isTable;
    byId("app-table").hidden = !isTable || found.length === 0;
    byId("legend").hidden = isTable || found.length === 0;
    byId("cap-key").hidden = !enforced;
    showChips(apps);
    const isFiltered = view.find.trim() !== "";
    setText(byId("app-count"), isFiltered ? `${found.length} of ${apps.length}` : String(apps.length));
    byId("no-apps").hidden = apps.length > 0;
    byId("no-match").hidden = apps.length === 0 || found.length > 0;
    setText(byId("no-match-text"), `No app matches “${view.find.trim()}”.`);
  };

  /** One button per phase, which finds the apps of it; pressed again it shows all. */
  function showChips(apps: App[]): void {
    const box = byId("phases");
    const chosen = view.find.trim().toLowerCase();
    const wanted = apps.length > mostCards ? phasesOf(apps) : [];
    const texts = wanted.map(({ phase, count }) => `${phase} ${count}`);
    if (texts.join() !== [...box.children].map(({ textContent }) => textContent).join()) {
      box.replaceChildren(...wanted.map(({ phase, app }, index) => {
        const chip = h(
          "button",
          { type: "button", class: `chip ${toneOf(app)}`, value: phase },
          texts[index],
        );
        chip.addEventListener("click", () => {
          const isChosen = view.find.trim().toLowerCase() === phase.toLowerCase();
          change({ find: isChosen ? "" : phase.toLowerCase() });
        });
        return chip;
      }));
    }
    for (const chip of box.querySelectorAll("button")) {
      chip.setAttribute("aria-pressed", String(chip.value.toLowerCase() === chosen));
    }
  }

  filter.addEventListener("input", () => change({ find: filter.value }));
  byId("show-all").addEventListener("click", () => change({ find: "" }));
  return { update: show };
}
