/**
 * Builds `dist/nckubelet`, one executable that needs no Node on its target.
 *
 * Usage: node tools/build.ts [--arch amd64|arm64] [--with deno]
 *   --arch ARCH   build for that architecture, as dist/nckubelet-ARCH; default: this machine, as dist/nckubelet
 *   --with deno   also build with `deno compile`, as dist/nckubelet-deno, if denort is available
 */
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { bundleProgram } from "./build/bundle.ts";
import { compileByDeno } from "./build/deno-compile.ts";
import { findRunner } from "./build/emulator.ts";
import { makeExecutable } from "./build/executable.ts";
import { type Architecture, hostArchitecture, nodeBinary } from "./build/node-binary.ts";
import { copyStripped } from "./build/strip.ts";
import { checkout } from "./checkout.ts";

const dist = join(checkout, "dist");

async function main(words: string[]): Promise<void> {
  const { arch, suffix, withDeno } = readRequest(words);
  await mkdir(dist, { recursive: true });
  const work = await mkdtemp(join(dist, ".work-"));
  try {
    const bundle = join(dist, "nckubelet.cjs");
    await bundleProgram(join(checkout, "src/main.ts"), bundle);
    console.log(await describe(bundle));
    await buildByNode(bundle, arch, work, join(dist, `nckubelet${suffix}`));
    if (withDeno) await buildByDeno(bundle, arch, join(dist, `nckubelet-deno${suffix}`));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function readRequest(words: string[]): { arch: Architecture; suffix: string; withDeno: boolean } {
  const { values } = parseArgs({
    args: words,
    options: { arch: { type: "string" }, with: { type: "string" } },
  });
  const { arch = hostArchitecture(), with: extra = "" } = values;
  if (arch !== "amd64" && arch !== "arm64") {
    throw new Error(`--arch ${JSON.stringify(arch)}: use amd64 or arm64`);
  }
  if (extra !== "" && extra !== "deno") {
    throw new Error(`--with ${JSON.stringify(extra)}: only deno can be added`);
  }
  return { arch, suffix: values.arch ? `-${arch}` : "", withDeno: extra === "deno" };
}

async function buildByNode(bundle: string, arch: Architecture, work: string, output: string): Promise<void> {
  const node = join(work, "node");
  if (!await copyStripped(await nodeBinary(arch, console.log), node, arch)) {
    console.log(`no strip for ${arch} here (packages binutils, llvm): the executable is 35 MB larger`);
  }
  const runner = await findRunner(arch, node);
  const cached = await makeExecutable({ bundle, node, runner, work, output });
  console.log(
    `${await describe(output)} for ${arch}, ${
      cached ? "with code cache" : "without code cache: no emulator"
    }`,
  );
}

async function buildByDeno(bundle: string, arch: Architecture, output: string): Promise<void> {
  const result = await compileByDeno(join(checkout, "node_modules/.bin/deno"), bundle, output, arch);
  console.log(result ? `deno compile: skipped: ${result.skipped}` : `${await describe(output)} for ${arch}`);
}

async function describe(path: string): Promise<string> {
  return `${path.slice(checkout.length + 1)}: ${((await stat(path)).size / 1e6).toFixed(1)} MB`;
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`build: ${error.message}`);
  process.exitCode = 1;
});
