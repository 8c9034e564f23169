/// <reference lib="dom" />
import { type App, pathOf, request } from "./agent.ts";
import { h } from "./dom.ts";
import { withoutColors } from "./format.ts";

export interface LogView {
  element: HTMLElement;
  close(): void;
}

const firstLines = 200;
/** What is kept of a followed log; more makes browsers slow. */
const maxCharacters = 400_000;

/** Returns the log of an app: its last lines, and new ones while it is followed. */
export function createLogView(app: App): LogView {
  const text = h("pre", { tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" });
  const button = h("button", { type: "button" }, "Follow");
  let reading: AbortController | undefined;

  const show = (more: string) => {
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 20;
    text.append(withoutColors(more));
    while ((text.textContent?.length ?? 0) > maxCharacters && text.firstChild) text.firstChild.remove();
    if (atEnd) text.scrollTop = text.scrollHeight;
  };
  const read = async (follow: boolean) => {
    reading?.abort();
    const current = reading = new AbortController();
    button.textContent = follow ? "Stop following" : "Follow";
    text.replaceChildren();
    try {
      const query = `tailLines=${firstLines}${follow ? "&follow=true" : ""}`;
      const { body } = await request(`${pathOf(app)}/logs?${query}`, current.signal);
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) show(piece.value);
      if (follow) show("\n(the log has ended)\n");
      else if (!text.firstChild) show("(nothing yet)");
    } catch (error) {
      if (!current.signal.aborted) show(`\n(${(error as Error).message})\n`);
    }
    if (reading === current && follow) button.textContent = "Follow";
  };
  button.addEventListener("click", () => void read(button.textContent === "Follow"));
  void read(false);
  return {
    element: h("div", {}, h("div", { class: "bar" }, h("h3", {}, "Log"), button), text),
    close: () => reading?.abort(),
  };
}
