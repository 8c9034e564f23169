/** What top shows, what happens to it, and what it asks for. `update.ts` goes from one state to the next. Pure. */
import { keyOf } from "../../api/names.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import type { Scope } from "../screen/screen.ts";
import type { LogPane } from "./log-pane.ts";
import { type Order, shownApps } from "./shown-apps.ts";

export interface TopState {
  scope: Scope;
  /** Shown if there are no apps. */
  none: string;
  heading: string[];
  apps: NodeApp[];
  now: number;
  columns: number;
  rows: number;
  order: Order;
  filter: string;
  /** The app that the user has chosen; without one it is the first of the list. */
  selected?: string;
  /** The first app on the screen. */
  first: number;
  mode: Mode;
  /** The outcome of an action, until the next key. */
  notice?: string;
  /** Why the data is old; undefined while it is not. */
  failure?: string;
}

export type Mode =
  | { kind: "list" | "help" }
  /** `before` returns with Escape. */
  | { kind: "filter"; before: string }
  | { kind: "confirm"; app: string }
  | { kind: "log"; app: string; pane: LogPane };

export type TopEvent =
  | { kind: "key"; key: string }
  | { kind: "data"; heading: string[]; apps: NodeApp[]; now: number }
  | { kind: "failed"; why: string; now: number }
  | { kind: "size"; columns: number; rows: number }
  | { kind: "logText"; app: string; text: string }
  | { kind: "logEnd"; app: string; why: string }
  | { kind: "notice"; text: string };

export type Effect =
  | { kind: "quit" | "suspend" | "closeLog" }
  | { kind: "restart" | "openLog"; app: string };

export interface Step {
  state: TopState;
  effect?: Effect;
}

export function startState(
  fields: Pick<TopState, "scope" | "none" | "heading" | "apps" | "now" | "columns" | "rows">,
): TopState {
  return { ...fields, order: { by: "CPU", reverse: false }, filter: "", first: 0, mode: { kind: "list" } };
}

/** Returns the apps of the list, and which of them is selected. */
export function listOf(state: TopState): { apps: NodeApp[]; index: number } {
  const apps = shownApps(state.apps, state.filter, state.order);
  return { apps, index: Math.max(0, apps.findIndex((app) => keyOf(app) === state.selected)) };
}
