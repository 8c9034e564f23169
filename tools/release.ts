/**
 * Builds `dist/release/`, the folder that install.sh installs from: the compressed executables of both architectures, install.sh,
 * the manifests, a Helm chart and a kustomize base, the image of the controllers, a bill of materials (CycloneDX), and SHA256SUMS. The
 * same checkout and the same packages of Debian give the same bytes.
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
import type { ImageParts } from "./release/image.ts";
import { fetchLibraries } from "./release/libraries.ts";
import type { TarEntry } from "./release/tar.ts";

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
  const libraries = await findLibraries();
  const parts = { executables, output, sourceDate, libraries, ...values };
  for (const line of await assembleRelease(parts)) console.log(line);
}

/** Without apt there is no image. */
async function findLibraries(): Promise<ImageParts["libraries"] | undefined> {
  try {
    const found = new Map<Architecture, TarEntry[]>();
    for (const arch of architectures) found.set(arch, await fetchLibraries(arch));
    return async (arch) => found.get(arch)!;
  } catch (error) {
    console.log(`nckubelet-image.tar is left out: no libraries from Debian: ${(error as Error).message}`);
    return undefined;
  }
}

async function lastCommit(): Promise<string> {
  return await must("git", ["log", "-1", "--format=%ct"], { cwd: checkout });
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
});
