/**
 * Inputs that broke something once, one file each in `found/`. Every unit run replays them.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

/** A case that failed. */
export interface Finding {
  target: string;
  /** What was wrong. */
  problem: string;
  seed: number;
  /** The number of the case. */
  number: number;
  input: Uint8Array;
}

const folder = fileURLToPath(new URL("./found/", import.meta.url));

/** Stores a finding and returns its path. */
export function keepFinding({ target, problem, seed, number, input }: Finding): string {
  const digest = createHash("sha256").update(input).digest("hex").slice(0, 8);
  const path = join(folder, `${target}-${digest}.json`);
  // Long inputs are repetitive.
  const isLong = input.length > 300;
  const text = Buffer.from(isLong ? gzipSync(input) : input).toString("base64");
  const kept = {
    target,
    problem: problem.split("\n")[0],
    seed,
    case: number,
    [isLong ? "gzip" : "base64"]: text,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `${JSON.stringify(kept, null, 2)}\n`);
  return path;
}

/** Returns all stored findings. */
export function keptFindings(): Finding[] {
  return readdirSync(folder).filter((file) => file.endsWith(".json")).sort().map((file) => {
    const { target, problem, seed, case: number, base64, gzip } = JSON.parse(
      readFileSync(join(folder, file), "utf8"),
    );
    const input = base64 === undefined
      ? gunzipSync(Buffer.from(gzip, "base64"))
      : Buffer.from(base64, "base64");
    return { target, problem, seed, number, input };
  });
}
