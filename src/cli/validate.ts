import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { formatProblem, parseManifests } from "../api/manifest.ts";
import { appKey } from "../api/names.ts";
import { errorCode } from "../lib/files.ts";
import { type Command, listFlag, UsageError } from "./command.ts";

/** Checks manifests as the agent and the API server would, and names every problem with file, line, field and value. */
export const validateCommand: Command = {
  name: "validate",
  summary: "Check manifests without applying them.",
  operands: "[FILE...]",
  flags: { filename: { kind: "list", short: "f", value: "FILE", help: "A manifest; may be repeated." } },
  examples: ["nckubelet validate -f app.yaml", "nckubelet validate examples/*.yaml"],
  async run(invocation, io) {
    const files = [...listFlag(invocation, "filename"), ...invocation.args];
    if (files.length === 0) throw new UsageError("no manifest is named: use -f FILE");
    const failures = await Promise.all(files.map(async (file) => {
      const { valid, problems } = await checkFile(file);
      for (const line of valid) io.stdout(`${line}\n`);
      for (const line of problems) io.stderr(`${line}\n`);
      return problems.length;
    }));
    return failures.some((count) => count > 0) ? 1 : 0;
  },
};

async function checkFile(file: string): Promise<{ valid: string[]; problems: string[] }> {
  try {
    const text = await readFile(file, "utf8");
    const { apps, problems } = parseManifests(text, file, { baseDir: resolve(dirname(file)) });
    const valid = apps.map(({ app }) =>
      `${file}: ${appKey(app.metadata.namespace ?? "", app.metadata.name)} is valid`
    );
    const empty = apps.length + problems.length === 0 ? [`${file}: holds no manifest`] : [];
    return { valid, problems: [...problems.map(formatProblem), ...empty] };
  } catch (error) {
    return { valid: [], problems: [`${file}: cannot be read: ${errorCode(error)}`] };
  }
}
