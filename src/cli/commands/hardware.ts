import { readHardware } from "../../node/hardware.ts";
import { type Command, UsageError } from "../command.ts";

/** Prints the maker and model of this machine. Hidden: the agent calls it, so as not to keep what finding out costs in memory. */
export const hardwareCommand: Command = {
  name: "hardware",
  summary: "Print the maker and model of this machine as JSON.",
  flags: {},
  examples: ["nckubelet hardware"],
  async run({ args }, io) {
    if (args.length > 0) throw new UsageError(`hardware takes no operands, not ${JSON.stringify(args[0])}`);
    io.stdout(`${JSON.stringify(await readHardware())}\n`);
    return 0;
  },
};
