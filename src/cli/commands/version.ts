import process from "node:process";
import { runtimeVersion, version } from "../../lib/version.ts";
import type { Command } from "../command.ts";

export const versionCommand: Command = {
  flags: {},
  examples: ["nckubelet version"],
  async run(_, io) {
    io.stdout(`nckubelet ${version} (${runtimeVersion()}, ${process.platform}/${process.arch})\n`);
    return 0;
  },
};
