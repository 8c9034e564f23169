import { holderKey } from "../../api/manifest/manifest.ts";
import { keyOf } from "../../api/names.ts";
import type { Command } from "../command.ts";
import { filenameFlag, readManifestFiles } from "../manifest-files.ts";

/** Checks manifests as the agent and the API server would. Objects of other kinds are reported, but are no problem. */
export const validateCommand: Command = {
  operands: "[FILE...]",
  flags: { filename: filenameFlag },
  examples: ["nckubelet validate -f app.yaml", "nckubelet validate examples/*.yaml"],
  async run(invocation, io) {
    const files = await readManifestFiles(invocation, io, { checkSets: true, takeHolders: true });
    for (const { file, apps, sets, holders, problems, skipped } of files) {
      for (const app of apps) io.stdout(`${file}: ${keyOf(app)} is valid\n`);
      for (const set of sets) io.stdout(`${file}: NCAppSet ${set} is valid\n`);
      for (const holder of holders) io.stdout(`${file}: ${holderKey(holder)} is valid\n`);
      for (const line of [...skipped, ...problems]) io.stderr(`${line}\n`);
    }
    return files.some(({ problems }) => problems.length > 0) ? 1 : 0;
  },
};
