/**
 * Builds one executable from a bundle and a Node binary.
 *
 * Guarantees: the same bundle and the same Node give the same bytes. Before the result appears under its name, it has run once and
 * its code cache was accepted. It appears atomically.
 * Caveat: an executable for another machine has a code cache only where an emulator for that machine is installed.
 */
import { copyFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { must, runCommand } from "../command.ts";
import { asideFile } from "./bundle.ts";

/** V8 settings of the executable; docs/decisions/0001-toolchain.md has the figures behind each. */
const v8Flags = [
  // A small young generation: garbage of requests is dropped early instead of filling 16 MB first.
  "--max-semi-space-size=1",
  // Collect garbage when it reaches half of the live heap, not three times of it.
  "--heap-growing-percent=50",
  // Compiler threads keep what they allocated: 8 MB that no idle agent needs.
  "--no-concurrent-recompilation",
  // A compiler whose code the next tier replaces, or an idle agent never needs again: half a megabyte.
  "--no-sparkplug",
  // The optimizing compiler for WebAssembly, which is undici's HTTP parser here, runs in threads and leaves them 2 MB.
  "--no-wasm-tier-up",
  "--no-wasm-dynamic-tiering",
  // A collection frees the code that has not run since the last one, such as that of the start: a megabyte.
  "--bytecode-old-age=1",
  // The agent frees the garbage of its start.
  "--expose-gc",
];

const nodeFlags = ["--disable-warning=ExperimentalWarning", "--disable-warning=DeprecationWarning"];

/** What an executable is made of. */
export interface ExecutableParts {
  bundle: string;
  launcher: string;
  node: string;
  /** The command prefix for a program of that architecture; empty for this machine's own, undefined if it cannot run here. */
  runner: string[] | undefined;
  /** A folder on the file system of the output, for temporary files. */
  work: string;
  output: string;
}

/** Builds the executable; reports whether it has a code cache. */
export async function makeExecutable(
  { bundle, launcher, node, runner, work, output }: ExecutableParts,
): Promise<boolean> {
  // Relative names, since they become part of the executable.
  await copyFile(bundle, join(work, "nckubelet.cjs"));
  await copyFile(join(dirname(bundle), asideFile), join(work, asideFile));
  await copyFile(launcher, join(work, "launcher"));
  const config = {
    main: "nckubelet.cjs",
    output: "nckubelet",
    assets: { [asideFile]: asideFile, launcher: "launcher" },
    executable: node,
    disableExperimentalSEAWarning: true,
    useCodeCache: runner !== undefined,
    // Node looks for its own --env-file in all words up to the first `--`, also in those of the user.
    execArgv: [...v8Flags, ...nodeFlags, "--"],
    // NODE_OPTIONS is for Node programs; this one has its own flags.
    execArgvExtension: "none",
  };
  await writeFile(join(work, "sea.json"), JSON.stringify(config));
  // A code cache is valid only for the flags it was made with. The seed, which is not one of those, makes it reproducible.
  const [file = process.execPath, ...words] = runner ? [...runner, node] : [];
  await must(file, [...words, ...v8Flags, "--random-seed=1", "--build-sea", "sea.json"], { cwd: work });
  if (runner) await checkExecutable([...runner, join(work, "nckubelet")]);
  await rename(join(work, "nckubelet"), output);
  return runner !== undefined;
}

/**
 * Node reports problems on standard error, such as a code cache made with other flags, or a file that is not there if it takes
 * flags of the user for its own.
 */
async function checkExecutable([file = "", ...words]: string[]): Promise<void> {
  const check = [...words, "help", "version", "--env-file=/none"];
  const { code, stdout, stderr } = await runCommand(file, check, { timeoutMs: 60_000 });
  if (code !== 0 || stderr !== "") {
    throw new Error(`the new executable does not run as it should: exit code ${code}\n${stdout}${stderr}`);
  }
}
