import type { NCAppStatus } from "../../api/types.ts";
import type { Io } from "../command.ts";

export type Color = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "bold" | "dim" | "inverse";
export type Paint = (color: Color, text: string) => string;

const codes: Record<Color, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

/** Colors for standard output: only on a terminal, unless NO_COLOR is set or the terminal is dumb. */
export function paintFor({ columns, env }: Io): Paint {
  const hasColors = columns > 0 && !env.NO_COLOR && env.TERM !== "dumb";
  if (!hasColors) return (_, text) => text;
  return (color, text) => text === "" ? text : `\x1b[${codes[color][0]}m${text}\x1b[${codes[color][1]}m`;
}

/** The color of a state: green is fine, yellow is in progress or at rest, red needs the user. */
export function stateColor({ phase = "Unknown", reason, lastExit }: NCAppStatus): Color {
  // It waits for its next run: fine, unless the last one failed.
  const isWaiting = phase === "Pending" && reason === "Scheduled";
  if (isWaiting) return lastExit && lastExit.reason !== "Completed" ? "yellow" : "green";
  if (phase === "Running" || phase === "Succeeded") return "green";
  return ["Failed", "BackOff", "Unknown", "Invalid"].includes(phase) ? "red" : "yellow";
}

/** Makes text from elsewhere safe to show: control characters could move the cursor or overwrite other output. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd");
}

/** Like `printable`, on one line and without tabs: a second line could pass for output of this program, and a tab breaks columns. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, " ");
}
