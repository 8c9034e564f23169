/**
 * Builds `dist/nckubelet`, one executable that needs no Node on its target.
 *
 * Usage: node tools/build.ts [--arch amd64|arm64] [--with deno] [--only launcher]
 *   --arch ARCH   build for that architecture, as dist/nckubelet-ARCH; default: this machine, as dist/nckubelet
 *   --only launcher   compile the launcher only, for a checkout: dist/launcher-ARCH
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
import { compileLauncher } from "./build/launcher.ts";
import { type Architecture, hostArchitecture, nodeBinary } from "./build/node-binary.ts";
import { copyStripped } from "./build/strip.ts";
import { checkout } from "./checkout.ts";

const dist = join(checkout, "dist");

async function main(words: string[]): Promise<void> {
  const { arch, suffix, withDeno, onlyLauncher } = readRequest(words);
  await mkdir(dist, { recursive: true });
  const launcher = await buildLauncher(arch);
  if (onlyLauncher) return;
  const work = await mkdtemp(join(dist, ".work-"));
  try {
    const bundle = join(dist, "nckubelet.cjs");
    await bundleProgram(join(checkout, "src/main.ts"), bundle);
    console.log(await describe(bundle));
    await buildByNode({ bundle, launcher, arch, work, output: join(dist, `nckubelet${suffix}`) });
    if (withDeno) await buildByDeno(bundle, arch, join(dist, `nckubelet-deno${suffix}`));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Request {
  arch: Architecture;
  suffix: string;
  withDeno: boolean;
  onlyLauncher: boolean;
}

function readRequest(words: string[]): Request {
  const { values } = parseArgs({
    args: words,
    options: {
      arch: { type: "string" },
      with: { type: "string" },
      only: { type: "string" },
    },
  });
  const { arch = hostArchitecture(), with: extra = "" } = values;
  if (arch !== "amd64" && arch !== "arm64") {
    throw new Error(`--arch ${JSON.stringify(arch)}: use amd64 or arm64`);
  }
  if (extra !== "" && extra !== "deno") {
    throw new Error(`--with ${JSON.stringify(extra)}: only deno can be added`);
  }
  if (values.only !== undefined && values.only !== "launcher") {
    throw new Error(`--only ${JSON.stringify(values.only)}: only launcher can be named`);
  }
  return {
    arch,
    suffix: values.arch ? `-${arch}` : "",
    withDeno: extra === "deno",
    onlyLauncher: values.only !== undefined,
  };
}

async function buildLauncher(arch: Architecture): Promise<string> {
  const output = join(dist, `launcher-${arch}`);
  const compiler = await compileLauncher(arch, output);
  console.log(`${await describe(output)} for ${arch}, by ${compiler}`);
  return output;
}

async function buildByNode(
  { bundle, launcher, arch, work, output }: {
    bundle: string;
    launcher: string;
    arch: Architecture;
    work: string;
    output: string;
  },
): Promise<void> {
  const node = join(work, "node");
  if (!await copyStripped(await nodeBinary(arch, console.log), node, arch)) {
    console.log(`no strip for ${arch} here (packages binutils, llvm): the executable is 35 MB larger`);
  }
  const runner = await findRunner(arch, node);
  const cached = await makeExecutable({ bundle, launcher, node, runner, work, output });
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
  const { size } = await stat(path);
  const shown = size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : `${(size / 1e6).toFixed(1)} MB`;
  return `${path.slice(checkout.length + 1)}: ${shown}`;
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`build: ${error.message}`);
  process.exitCode = 1;
});
