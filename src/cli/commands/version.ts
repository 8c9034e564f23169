import process from "node:process";
import { version } from "../../lib/version.ts";
import { type Command, UsageError } from "../command.ts";

/** Prints the version of this executable and of its runtime. */
export const versionCommand: Command = {
  name: "version",
  summary: "Print the version.",
  flags: {},
  examples: ["nckubelet version"],
  async run({ args }, io) {
    if (args.length > 0) throw new UsageError(`version takes no operands, not ${JSON.stringify(args[0])}`);
    io.stdout(`nckubelet ${version} (${runtime()}, ${process.platform}/${process.arch})\n`);
    return 0;
  },
};

function runtime(): string {
  return "deno" in process.versions ? `deno ${process.versions.deno}` : `node ${process.versions.node}`;
}
