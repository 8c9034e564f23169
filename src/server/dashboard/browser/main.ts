/// <reference lib="dom" />
/** The dashboard: polls the agent every few seconds, but not while the page is hidden. */
import { type App, get, keyOf, type Status, TokenNeeded, useToken } from "./agent.ts";
import { type AppCard, createAppCard, urgency } from "./app-card.ts";
import { type Detail, openDetail } from "./app-detail.ts";
import { byId, setText } from "./dom.ts";
import { createNodePanel } from "./node-panel.ts";
import { extend, type HistoryPart, type Timeline } from "./timeline.ts";

const periodMs = 3000;

const node = createNodePanel();
const cards = new Map<string, AppCard>();
const filter = byId<HTMLInputElement>("filter");
const tokenForm = byId<HTMLFormElement>("token-form");
let apps: App[] = [];
let timeline: Timeline | undefined;
let detail: Detail | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

async function refresh(): Promise<void> {
  clearTimeout(timer);
  try {
    const [status, list, part] = await Promise.all([
      get<Status>("/status"),
      get<{ items: App[] }>("/apps"),
      get<HistoryPart>(timeline && timeline.last >= 0 ? `/history?since=${timeline.last}` : "/history"),
    ]);
    if (!timeline || part.last !== timeline.last) timeline = extend(timeline, part);
    apps = list.items;
    node.update(status, timeline);
    showApps();
    const shown = apps.find((app) => keyOf(app) === detail?.key);
    if (shown) detail?.update(shown);
    const failed = status.checks.filter(({ ok }) => !ok).length;
    showConnection(
      failed === 0 ? "Ready" : `Not ready: ${failed} of ${status.checks.length} checks fail`,
      failed > 0,
    );
    tokenForm.hidden = true;
  } catch (error) {
    tokenForm.hidden = !(error instanceof TokenNeeded);
    showConnection(
      error instanceof TokenNeeded ? error.message : `The agent does not answer: ${(error as Error).message}`,
      true,
    );
  }
  if (!document.hidden && tokenForm.hidden) timer = setTimeout(refresh, periodMs);
}

function showApps(): void {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (app: App) => {
    const text = `${keyOf(app)} ${app.status.phase} ${app.status.reason}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const wanted = apps.filter(matches).sort((a, b) => urgency(a) - urgency(b));
  const keys = new Set(apps.map(keyOf));
  for (const key of cards.keys()) if (!keys.has(key)) cards.delete(key);
  const elements = wanted.map((app) => {
    const card = cards.get(keyOf(app)) ?? createAppCard(app, () => openByKey(keyOf(app)));
    cards.set(keyOf(app), card);
    card.update(app, timeline);
    return card.element;
  });
  const list = byId("apps");
  const isSame = elements.length === list.children.length &&
    elements.every((element, i) => element === list.children[i]);
  // Moving an element would take the focus from it.
  if (!isSame) list.replaceChildren(...elements);
  setText(byId("app-count"), words.length > 0 ? `${wanted.length} of ${apps.length}` : String(apps.length));
  byId("no-apps").hidden = wanted.length > 0;
}

function openByKey(key: string): void {
  const app = apps.find((app) => keyOf(app) === key);
  if (app && !detail) detail = openDetail(app, () => detail = undefined);
}

function showConnection(text: string, isBad: boolean): void {
  const connection = byId("connection");
  setText(connection, text);
  connection.className = isBad ? "bad" : "";
}

filter.addEventListener("input", showApps);
tokenForm.addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId<HTMLInputElement>("token").value);
  void refresh();
});
document.addEventListener("visibilitychange", () => void (document.hidden || refresh()));
addEventListener("hashchange", () => openByKey(decodeURIComponent(location.hash.slice(1))));
void refresh().then(() => openByKey(decodeURIComponent(location.hash.slice(1))));
