/**
 * Builds `dist/release/`, the folder that install.sh installs from: the compressed executables of both architectures, install.sh,
 * the manifests, a bill of materials (CycloneDX), and SHA256SUMS. The same checkout gives the same bytes.
 *
 * Usage: node tools/release.ts [--url URL] [--sign KEY]
 *   --url URL    the future URL of the folder: install.sh then needs no NCKUBELET_URL
 *   --sign KEY   file with a private RSA key: adds SHA256SUMS.sig
 * The date of the release is that of the last commit, or SOURCE_DATE_EPOCH.
 */
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import type { Architecture } from "./build/node-binary.ts";
import { checkout } from "./checkout.ts";
import { must } from "./command.ts";
import { assembleRelease } from "./release/assemble.ts";

const architectures: Architecture[] = ["amd64", "arm64"];

async function main(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { url: { type: "string" }, sign: { type: "string" } },
  });
  const executables: Partial<Record<Architecture, string>> = {};
  for (const arch of architectures) {
    process.stdout.write(
      await must(process.execPath, ["tools/build.ts", "--arch", arch], {
        cwd: checkout,
      }),
    );
    executables[arch] = join(checkout, `dist/nckubelet-${arch}`);
  }
  const output = join(checkout, "dist/release");
  const sourceDate = Number(process.env.SOURCE_DATE_EPOCH ?? await lastCommit());
  for (const line of await assembleRelease({ executables, output, sourceDate, ...values })) console.log(line);
}

async function lastCommit(): Promise<string> {
  return await must("git", ["log", "-1", "--format=%ct"], { cwd: checkout });
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
});
