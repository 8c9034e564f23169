/** Reads the arguments of the runner. */
import { parseArgs } from "node:util";
import { type SuiteName, suiteNames, usualSuites } from "./suites.ts";

/** What to run. */
export interface Request {
  names: readonly SuiteName[];
  only?: string;
  changed: boolean;
  kubernetes?: string;
  kernel?: string;
}

/** Reads the words after `npm test --`; throws if a suite or an option is unknown. */
export function readRequest(words: string[]): Request {
  const { values, positionals } = parseArgs({
    args: words,
    options: {
      only: { type: "string" },
      changed: { type: "boolean", default: false },
      kubernetes: { type: "string" },
      kernel: { type: "string" },
    },
    allowPositionals: true,
  });
  const unknown = positionals.find((word) => !(suiteNames as readonly string[]).includes(word));
  if (unknown !== undefined) {
    throw new Error(`unknown suite ${JSON.stringify(unknown)}: use ${suiteNames.join(", ")}`);
  }
  const names = positionals.length > 0 ? positionals as SuiteName[] : usualSuites;
  return { names, ...values };
}
