/// <reference lib="dom" />
import { type App, pathOf, request } from "./agent.ts";
import { h, setText } from "./dom.ts";
import { linesWith, withoutColors } from "./format.ts";

export interface LogView {
  element: HTMLElement;
  close(): void;
}

const firstLines = 200;
/** What is kept of a followed log; more makes browsers slow. */
const maxCharacters = 400_000;

/** Returns the log of an app: its last lines, and new ones while it is followed; only those with a text, if one is searched. */
export function createLogView(app: App): LogView {
  const text = h("pre", { tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" });
  const follow = h("button", { type: "button" }, "Follow");
  const wrap = h("button", { type: "button", "aria-pressed": "true" }, "Wrap");
  const find = h("input", { type: "search", placeholder: "text in the log", "aria-label": "Search the log" });
  const count = h("span", { class: "note", role: "status" });
  let log = "";
  let reading: AbortController | undefined;

  const show = (more: string) => {
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 20;
    const isCut = log.length + more.length > maxCharacters;
    log = (log + withoutColors(more)).slice(-maxCharacters);
    if (isCut || find.value) render();
    else text.append(withoutColors(more));
    if (atEnd) text.scrollTop = text.scrollHeight;
  };
  const render = () => {
    const found = find.value ? linesWith(log, find.value) : undefined;
    setText(count, found ? `${found.length} ${found.length === 1 ? "line" : "lines"}` : "");
    text.replaceChildren(...(found?.flatMap((line) => marked(line, find.value)) ?? [log]));
  };
  const read = async (isFollowed: boolean) => {
    reading?.abort();
    const current = reading = new AbortController();
    follow.textContent = isFollowed ? "Stop following" : "Follow";
    log = "";
    render();
    try {
      const query = `tailLines=${firstLines}${isFollowed ? "&follow=true" : ""}`;
      const { body } = await request(`${pathOf(app)}/logs?${query}`, current.signal);
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) show(piece.value);
      if (isFollowed) show("\n(the log has ended)\n");
      else if (!log) show("(nothing yet)");
    } catch (error) {
      if (!current.signal.aborted) show(`\n(${(error as Error).message})\n`);
    }
    if (reading === current && isFollowed) follow.textContent = "Follow";
  };
  follow.addEventListener("click", () => void read(follow.textContent === "Follow"));
  find.addEventListener("input", render);
  wrap.addEventListener("click", () => {
    const isWrapped = text.classList.toggle("unwrapped");
    wrap.setAttribute("aria-pressed", String(!isWrapped));
  });
  void read(false);
  const tools = h("div", { class: "tools" }, count, find, wrap, follow);
  return {
    element: h("div", {}, h("div", { class: "bar" }, h("h3", {}, "Log"), tools), text),
    close: () => reading?.abort(),
  };
}

/** Returns a line with the searched text marked. */
function marked(line: string, wanted: string): (Node | string)[] {
  const at = line.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return [`${line}\n`];
  const end = at + wanted.length;
  return [line.slice(0, at), h("mark", {}, line.slice(at, end)), `${line.slice(end)}\n`];
}
