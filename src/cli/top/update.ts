/**
 * The next state of top after a key, new data or a new size, and an effect for top.ts. Pure.
 *
 * Guarantees: the selection follows its app when measurements move it, and is always on the screen. What the user confirms happens
 * to the app that was named, even if others moved in between.
 */
import { keyOf } from "../../api/names.ts";
import { listHeight, paneSize } from "./layout.ts";
import { addText } from "./log-pane.ts";
import { press } from "./press.ts";
import { listOf, type Step, type TopEvent, type TopState } from "./state.ts";

export function update(state: TopState, event: TopEvent): Step {
  const { state: next, effect } = react(state, event);
  return { state: settle(next, state), effect };
}

function react(state: TopState, event: TopEvent): Step {
  const { mode } = state;
  switch (event.kind) {
    case "key":
      return press({ ...state, notice: undefined }, event.key);
    case "data":
      return {
        state: { ...state, heading: event.heading, apps: event.apps, now: event.now, failure: undefined },
      };
    case "failed":
      return { state: { ...state, failure: event.why, now: event.now } };
    case "size":
      return { state: { ...state, columns: event.columns, rows: event.rows } };
    case "notice":
      return { state: { ...state, notice: event.text } };
    default: {
      if (mode.kind !== "log" || mode.app !== event.app) return { state };
      const pane = event.kind === "logText"
        ? addText(mode.pane, event.text, paneSize(state))
        : { ...mode.pane, ended: event.why };
      return { state: { ...state, mode: { ...mode, pane } } };
    }
  }
}

/** Keeps the selection on an app of the list, and on the screen. */
function settle(state: TopState, before: TopState): TopState {
  const { apps } = listOf(state);
  const isListed = state.selected === undefined || apps.some((app) => keyOf(app) === state.selected);
  // The app is gone, or the filter hides it: the one in its place is next.
  const place = isListed ? undefined : apps[Math.min(apps.length - 1, listOf(before).index)];
  const selected = isListed ? state.selected : place && keyOf(place);
  const { index } = listOf({ ...state, selected });
  const height = listHeight(state);
  const last = Math.max(0, apps.length - height);
  const first = Math.min(Math.max(state.first, index - height + 1), index, last);
  return { ...state, selected, first: Math.max(0, first) };
}
