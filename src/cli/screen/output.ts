import { dump } from "js-yaml";
import { type Flag, type Invocation, textFlag, UsageError } from "../command.ts";

export type OutputFormat = "table" | "wide" | "json" | "yaml" | "name";

const formats: OutputFormat[] = ["table", "wide", "json", "yaml", "name"];

export const outputFlag: Flag = {
  kind: "text",
  short: "o",
  value: "FORMAT",
  help: "table, wide, json, yaml or name.",
  default: "table",
};

/** The format that --output asks for. */
export function outputFormat(invocation: Invocation): OutputFormat {
  const text = textFlag(invocation, "output") ?? "table";
  const found = formats.find((format) => format === text);
  if (!found) throw new UsageError(`--output ${JSON.stringify(text)}: use ${formats.join(", ")}`);
  return found;
}

/** Whether programs read the format, which people do not watch. */
export function isForPrograms(format: OutputFormat): boolean {
  return format !== "table" && format !== "wide";
}

/** An object as text for programs. */
export function formatObject(object: unknown, format: "json" | "yaml"): string {
  return format === "json"
    ? `${JSON.stringify(object, null, 2)}\n`
    : dump(object, { noRefs: true, lineWidth: -1 });
}
