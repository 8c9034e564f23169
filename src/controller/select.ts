/** Chooses the controllers of a process by `--only` and `--without`. Pure. */
import { type ControllerName, controllerNames, usualControllers } from "./controllers.ts";

/** Returns the chosen controllers in the order of the table. Throws an error that names the flag and its value. */
export function selectControllers(
  { only, without }: { only?: string; without?: string },
  { all = controllerNames, usual = usualControllers }: {
    all?: readonly string[];
    usual?: readonly string[];
  } = {},
): ControllerName[] {
  const wanted = only === undefined ? usual : namesIn("only", only, all);
  const unwanted = without === undefined ? [] : namesIn("without", without, all);
  const chosen = all.filter((name) => wanted.includes(name) && !unwanted.includes(name));
  if (chosen.length > 0) return chosen as ControllerName[];
  const given = [only !== undefined && `--only ${only}`, without !== undefined && `--without ${without}`];
  throw new Error(`${given.filter(Boolean).join(" ")}: no controller is left of ${all.join(", ")}`);
}

function namesIn(flag: string, text: string, all: readonly string[]): string[] {
  const names = text.split(",").map((name) => name.trim()).filter(Boolean);
  const unknown = names.find((name) => !all.includes(name));
  if (names.length > 0 && unknown === undefined) return names;
  const what = unknown === undefined ? "no controller is named" : `no controller ${JSON.stringify(unknown)}`;
  throw new Error(`--${flag} ${JSON.stringify(text)}: ${what}; use some of ${all.join(",")}`);
}
