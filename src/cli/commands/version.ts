import process from "node:process";
import { version } from "../../lib/version.ts";
import type { Command } from "../command.ts";

export const versionCommand: Command = {
  flags: {},
  examples: ["nckubelet version"],
  async run(_, io) {
    io.stdout(`nckubelet ${version} (${runtime()}, ${process.platform}/${process.arch})\n`);
    return 0;
  },
};

function runtime(): string {
  return "deno" in process.versions ? `deno ${process.versions.deno}` : `node ${process.versions.node}`;
}
