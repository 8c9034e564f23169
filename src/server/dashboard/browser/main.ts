/// <reference lib="dom" />
/** The dashboard: polls the agent every few seconds, but not while the page is hidden. */
import type { AppEventView, History, StatusAnswer } from "../../view.ts";
import { type App, get, keyOf, takeToken, TokenNeeded, useToken } from "./agent.ts";
import { type Detail, openDetail } from "./app-detail.ts";
import { createAppList } from "./app-list.ts";
import { byId, setText } from "./dom.ts";
import { ago, clock } from "./format.ts";
import { createNodePanel } from "./node-panel.ts";
import { extend, type Timeline } from "./timeline.ts";

const periodMs = 3000;

const node = createNodePanel();
const list = createAppList(openByKey);
const tokenForm = byId<HTMLFormElement>("token-form");
let apps: App[] = [];
let enforced = true;
/** When the agent answered last; undefined before the first answer. */
let seen: number | undefined;
let timeline: Timeline | undefined;
let detail: Detail | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

async function refresh(): Promise<void> {
  clearTimeout(timer);
  try {
    const [status, found, part, events] = await Promise.all([
      get<StatusAnswer>("/status"),
      get<{ items: App[] }>("/apps"),
      get<History>(timeline && timeline.last >= 0 ? `/history?since=${timeline.last}` : "/history"),
      // Only the detail shows them.
      detail ? getEvents(detail.key) : [],
    ]);
    if (!timeline || part.last !== timeline.last) timeline = extend(timeline, part);
    apps = found.items;
    enforced = status.limits.enforced;
    seen = Date.now();
    node.update(status, timeline);
    list.update(apps, timeline, enforced);
    const shown = apps.find((app) => keyOf(app) === detail?.key);
    if (shown) detail?.update(shown, enforced, events);
    const failed = status.checks.filter(({ ok }) => !ok).length;
    showConnection(
      failed === 0 ? "Ready" : `Not ready: ${failed} of ${status.checks.length} checks fail`,
      failed > 0,
    );
    tokenForm.hidden = true;
    document.body.classList.remove("stale");
  } catch (error) {
    tokenForm.hidden = !(error instanceof TokenNeeded);
    document.body.classList.toggle("stale", seen !== undefined);
    showConnection(error instanceof TokenNeeded ? error.message : goneText(error as Error), true);
  }
  if (!document.hidden && tokenForm.hidden) timer = setTimeout(refresh, periodMs);
}

function goneText(error: Error): string {
  // Browsers have different words for an agent that is away, such as "Failed to fetch".
  const why = error instanceof TypeError ? "" : `: ${error.message}`;
  const last = seen === undefined
    ? ""
    : `; last seen at ${clock(seen)}, ${ago(new Date(seen).toISOString(), Date.now())} ago`;
  return `The agent does not answer${why}${last}`;
}

async function getEvents(key: string): Promise<AppEventView[]> {
  return (await get<{ items: AppEventView[] }>(`/events?app=${encodeURIComponent(key)}`)).items;
}

function openByKey(key: string): void {
  const app = apps.find((app) => keyOf(app) === key);
  if (!app || detail) return;
  const opened = detail = openDetail(app, enforced, () => detail = undefined);
  // Not with a refresh: two at once would mix up the parts of the history. The next one tries again.
  getEvents(key).then((events) => opened === detail && opened.update(app, enforced, events), () => {});
}

function showConnection(text: string, isBad: boolean): void {
  const connection = byId("connection");
  setText(connection, text);
  connection.className = isBad ? "bad" : "";
}

tokenForm.addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId<HTMLInputElement>("token").value);
  void refresh();
});
document.addEventListener("visibilitychange", () => void (document.hidden || refresh()));
addEventListener("hashchange", () => {
  if (takeToken()) void refresh();
  else openByKey(decodeURIComponent(location.hash.slice(1)));
});
takeToken();
void refresh().then(() => openByKey(decodeURIComponent(location.hash.slice(1))));
