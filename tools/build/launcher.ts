/**
 * Compiles the native launcher, launcher/launcher.c: one static file, by the first compiler that is there. musl gives 34 kB; glibc
 * works too, and takes 700.
 */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../checkout.ts";
import { must, runCommand } from "../command.ts";
import { type Architecture, cacheFolder, hostArchitecture } from "./node-binary.ts";

const source = join(checkout, "launcher/launcher.c");
const machines: Record<Architecture, string> = { amd64: "x86_64", arm64: "aarch64" };
const warnings = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"];

/** Compiles the launcher for an architecture; returns the compiler, or undefined if there is none. */
export async function compileLauncher(arch: Architecture, output: string): Promise<string | undefined> {
  for (const [compiler = "", ...flags] of compilersFor(arch)) {
    const version = await runCommand(compiler, ["--version"], { timeoutMs: 60_000 });
    if (version.code !== 0 && compiler !== "zig") continue;
    const work = `${output}.${process.pid}.tmp`;
    const words = [...flags.filter((flag) => flag !== libraries), "-static", "-Os", "-s", ...warnings];
    const after = flags.includes(libraries) ? await muslLibraries(compiler, arch) : [];
    const { code, stderr } = await runCommand(compiler, [...words, "-o", work, source, ...after]);
    if (code === 0) {
      await rename(work, output);
      return [compiler, ...flags].join(" ");
    }
    await rm(work, { force: true });
    // A compiler without a C library for that architecture is no compiler for it.
    if (code !== 127 && !/cannot find|No such file/.test(stderr)) throw new Error(`${compiler}: ${stderr}`);
  }
  return undefined;
}

/** Flags that end the launcher at the first wrong access. */
export const sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"];

/** Compiles a launcher for the tests on this machine. */
export async function compileVariant(output: string, variant: string[]): Promise<void> {
  const flags = [...variant, ...warnings];
  const work = `${output}.${process.pid}.tmp`;
  await must("cc", [...flags, "-o", work, source]);
  await rename(work, output);
}

/** Stands for the musl of `install-parts.sh compilers`, which is for an architecture without a musl-gcc of its own. */
const libraries = "(musl)";

function compilersFor(arch: Architecture): string[][] {
  const machine = machines[arch];
  const own = arch === hostArchitecture();
  return [
    ...(own ? [["musl-gcc"]] : []),
    [`${machine}-linux-musl-gcc`],
    ...(existsSync(muslFolder(arch)) ? [[`${machine}-linux-gnu-gcc`, libraries]] : []),
    ["zig", "cc", "-target", `${machine}-linux-musl`],
    [`${machine}-linux-gnu-gcc`],
    ...(own ? [["cc"]] : []),
  ];
}

/** The arguments that replace the compiler's C library by that musl. */
async function muslLibraries(compiler: string, arch: Architecture): Promise<string[]> {
  const [headers, ownLibrary] = await Promise.all(
    ["-print-file-name=include", "-print-libgcc-file-name"].map((flag) => must(compiler, [flag])),
  );
  const folder = muslFolder(arch);
  const target = `${machines[arch]}-linux-musl`;
  const files = ["crt1.o", "crti.o", "crtn.o", "libc.a"].map((name) => join(folder, "lib", target, name));
  const includes = [headers!.trim(), join(folder, "include", target)].flatMap((path) => ["-isystem", path]);
  return ["-nostdinc", ...includes, "-nostdlib", ...files, ownLibrary!.trim()];
}

function muslFolder(arch: Architecture): string {
  // Part of the path in install-parts.sh too: raise both when the recipe changes.
  return join(cacheFolder(), `musl-${arch}-1.2.3`, "usr");
}
