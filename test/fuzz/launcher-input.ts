/**
 * Fuzzes what the launcher parses, by libFuzzer inside of the process: a thousand times the cases of `npm run fuzz`, guided by coverage.
 *
 * Usage: node test/fuzz/launcher-input.ts [SECONDS]
 *
 * It takes clang with libFuzzer, which is large, so no suite needs it: on Debian 12, `apt-get install clang libclang-rt-14-dev`. The corpus
 * stays in `dist/launcher-corpus`; an input that breaks the launcher is written to `dist`, and the run fails.
 */
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { sanitizers } from "../../tools/build/launcher.ts";
import { checkout } from "../../tools/checkout.ts";
import { launcherTargets } from "./targets/launcher.ts";

/** The numbers of parsers in launcher-input.c. */
const [requests, environments] = launcherTargets.map(({ samples }) => samples);
const logs = ["app.log.0000000000000123", "app.times.0000000000000123", "app.log.9999999999999999"];

/** Writes the samples of all parsers to a folder; returns their paths. */
export function writeSamples(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return [requests!, environments!, logs].flatMap((samples, parser) =>
    samples.map((sample) => {
      const input = Buffer.concat([Uint8Array.of(parser), Buffer.from(sample, "latin1")]);
      const path = join(folder, createHash("sha1").update(input).digest("hex"));
      writeFileSync(path, input);
      return path;
    })
  );
}

/** The arguments of a compiler that makes it a program at this path. */
export function compilerArguments(output: string, flags: string[]): string[] {
  const source = join(checkout, "test/fuzz/launcher-input.c");
  return [...sanitizers, "-Wno-unused-function", ...flags, "-o", output, source];
}

function main(seconds: number): number {
  const dist = join(checkout, "dist");
  const [program, corpus] = [join(dist, "launcher-fuzzer"), join(dist, "launcher-corpus")];
  writeSamples(corpus);
  const run = (file: string, args: string[]) => {
    const { error, status } = spawnSync(file, args, { stdio: "inherit" });
    if (error) throw error;
    return status ?? 1;
  };
  return run("clang", compilerArguments(program, ["-fsanitize=fuzzer"])) ||
    run(program, [
      `-max_total_time=${seconds}`,
      "-max_len=8192",
      "-print_final_stats=1",
      `-artifact_prefix=${dist}/`,
      corpus,
    ]);
}

if (import.meta.main) process.exitCode = main(Number(process.argv[2] ?? 60));
