/**
 * Compiles the native launcher, launcher/launcher.c: one static file, by the first compiler that is there. musl gives 34 kB; glibc
 * works too, and takes 700.
 */
import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkout } from "../checkout.ts";
import { must, runCommand } from "../command.ts";
import { type Architecture, cacheFolder, hostArchitecture } from "./node-binary.ts";

const source = join(checkout, "launcher/launcher.c");
const machines: Record<Architecture, string> = { amd64: "x86_64", arm64: "aarch64" };
const warnings = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"];

/** Returns the path of the launcher in `dist`, compiled anew if its source has changed. */
export async function currentLauncher(arch: Architecture = hostArchitecture()): Promise<string> {
  return await compiled(`launcher-${arch}`, (path) => compileLauncher(arch, path));
}

/** Compiles a file in `dist`, unless it is newer than the source of the launcher; returns its path. */
export async function compiled(name: string, compile: (path: string) => Promise<unknown>): Promise<string> {
  const path = join(checkout, "dist", name);
  if (!existsSync(path) || statSync(path).mtimeMs < statSync(source).mtimeMs) {
    await mkdir(dirname(path), { recursive: true });
    // Tests on Deno share a process, so its id names no file of one compiler.
    const work = `${path}.${randomUUID()}.tmp`;
    await compile(work);
    await rename(work, path);
  }
  return path;
}

/** Compiles the launcher for an architecture; returns the compiler. */
export async function compileLauncher(arch: Architecture, output: string): Promise<string> {
  for (const [compiler = "", ...flags] of compilersFor(arch)) {
    const version = await runCommand(compiler, ["--version"], { timeoutMs: 60_000 });
    if (version.code !== 0 && compiler !== "zig") continue;
    const words = [...flags.filter((flag) => flag !== libraries), "-static", "-Os", "-s", ...warnings];
    const after = flags.includes(libraries) ? await muslLibraries(compiler, arch) : [];
    const { code, stderr } = await runCommand(compiler, [...words, "-o", output, source, ...after]);
    if (code === 0) return [compiler, ...flags].join(" ");
    // A compiler without a C library for that architecture is no compiler for it.
    if (code !== 127 && !/cannot find|No such file/.test(stderr)) throw new Error(`${compiler}: ${stderr}`);
  }
  throw new Error(
    `no C compiler for the launcher for ${arch}: install gcc with the C library's headers, such as build-essential or musl-tools`,
  );
}

/** Flags that end the launcher at the first wrong access. */
export const sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"];

/** Compiles a launcher for the tests on this machine. */
export async function compileVariant(output: string, variant: string[]): Promise<void> {
  await must("cc", [...variant, ...warnings, "-o", output, source]);
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
