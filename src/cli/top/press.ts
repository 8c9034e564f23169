/** What the keys of top do. Pure. */
import { keyOf } from "../../api/names.ts";
import { listHeight, paneSize } from "./layout.ts";
import { emptyLog, type LogPane, scroll } from "./log-pane.ts";
import { type Order, orderNames, orders } from "./shown-apps.ts";
import { listOf, type Step, type TopState } from "./state.ts";

export function press(state: TopState, key: string): Step {
  if (key === "<ctrl-c>") return { state, effect: { kind: "quit" } };
  if (key === "<ctrl-z>") return { state, effect: { kind: "suspend" } };
  const { mode } = state;
  switch (mode.kind) {
    case "list":
      return pressInList(state, key);
    case "help":
      return { state: backToList(state) };
    case "filter":
      return { state: pressInFilter(state, key, mode.before) };
    case "confirm":
      return {
        state: backToList(state),
        effect: key === "y" || key === "Y" ? { kind: "restart", app: mode.app } : undefined,
      };
    case "log":
      if (key === "q" || key === "<escape>" || key === "<left>") {
        return { state: backToList(state), effect: { kind: "closeLog" } };
      }
      return { state: { ...state, mode: { ...mode, pane: pressInLog(state, mode.pane, key) } } };
  }
}

function pressInList(state: TopState, key: string): Step {
  const { apps, index } = listOf(state);
  const chosen = apps[index] && keyOf(apps[index]);
  const page = Math.max(1, listHeight(state) - 1);
  const steps: Record<string, number> = {
    "<up>": -1,
    k: -1,
    "<down>": 1,
    j: 1,
    "<page-up>": -page,
    "<page-down>": page,
    " ": page,
    "<home>": -apps.length,
    g: -apps.length,
    "<end>": apps.length,
    G: apps.length,
  };
  if (key in steps) {
    const to = apps[Math.min(apps.length - 1, Math.max(0, index + steps[key]!))];
    const isFirst = to === apps[0];
    return { state: { ...state, selected: to && !isFirst ? keyOf(to) : undefined } };
  }
  const by = orderNames.find((name) => orders[name].key === key);
  if (by) return { state: inOrder(state, { by, reverse: false }) };
  switch (key) {
    case "q":
      return { state, effect: { kind: "quit" } };
    case "?":
    case "h":
      return { state: { ...state, mode: { kind: "help" } } };
    case "R":
      return { state: inOrder(state, { ...state.order, reverse: !state.order.reverse }) };
    case "/":
      return { state: { ...state, mode: { kind: "filter", before: state.filter } } };
    case "<escape>":
      return { state: { ...state, filter: "" } };
    case "<enter>":
    case "<right>":
    case "l":
      if (chosen === undefined) return { state };
      return {
        state: { ...state, selected: chosen, mode: { kind: "log", app: chosen, pane: emptyLog } },
        effect: { kind: "openLog", app: chosen },
      };
    case "r":
      if (chosen === undefined) return { state };
      return { state: { ...state, selected: chosen, mode: { kind: "confirm", app: chosen } } };
    default:
      return { state };
  }
}

/** Another order is for its first apps. */
function inOrder(state: TopState, order: Order): TopState {
  return { ...state, order, selected: undefined, first: 0 };
}

/** The list follows while the filter is typed. */
function pressInFilter(state: TopState, key: string, before: string): TopState {
  const { filter } = state;
  switch (key) {
    case "<enter>":
      return backToList(state);
    case "<escape>":
      return backToList({ ...state, filter: before });
    case "<backspace>":
      return { ...state, filter: [...filter].slice(0, -1).join("") };
    case "<ctrl-u>":
      return { ...state, filter: "" };
    default:
      return key.startsWith("<") && key.length > 1 || filter.length >= longestFilter
        ? state
        : { ...state, filter: filter + key };
  }
}

const longestFilter = 200;

function pressInLog(state: TopState, pane: LogPane, key: string): LogPane {
  const size = paneSize(state);
  const page = Math.max(1, size.height - 1);
  const steps: Record<string, number> = {
    "<up>": 1,
    k: 1,
    "<down>": -1,
    j: -1,
    "<page-up>": page,
    "<page-down>": -page,
    " ": -page,
    "<home>": Infinity,
    g: Infinity,
    "<end>": -Infinity,
    G: -Infinity,
  };
  if (key in steps) return scroll(pane, steps[key]!, size);
  return key === "w" ? scroll({ ...pane, wrap: !pane.wrap }, 0, size) : pane;
}

function backToList(state: TopState): TopState {
  return { ...state, mode: { kind: "list" } };
}
