import type { Io } from "../command.ts";

export type Colour = "red" | "green" | "yellow" | "bold" | "dim";
export type Paint = (colour: Colour, text: string) => string;

const codes: Record<Colour, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};

/** Colours for standard output: only on a terminal, and not where NO_COLOR is set or the terminal is dumb. */
export function paintFor({ columns, env }: Io): Paint {
  const colourful = columns > 0 && !env.NO_COLOR && env.TERM !== "dumb";
  if (!colourful) return (_, text) => text;
  return (colour, text) => text === "" ? text : `\x1b[${codes[colour][0]}m${text}\x1b[${codes[colour][1]}m`;
}

/** The colour of a phase: green is well, yellow is on its way, red needs a person. */
export function phaseColour(phase: string): Colour {
  if (phase === "Running" || phase === "Succeeded") return "green";
  return phase === "Failed" || phase === "BackOff" || phase === "Unknown" ? "red" : "yellow";
}

/** Text from elsewhere, safe to show: control characters could move the cursor or change what stands above. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd");
}

/** The same on one line: a second one could pass for something that we say. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", " ");
}
