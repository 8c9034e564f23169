import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/**
 * Reports whether the file system of `folder` can collapse a file, by asking fallocate(1) and not the code under test. With `CI=true`
 * one that cannot is an error, so that a pipeline cannot turn green by skipping.
 */
export function canCollapse(folder: string, env: NodeJS.ProcessEnv = process.env): boolean {
  const path = join(folder, "collapse-probe");
  writeFileSync(path, Buffer.alloc(3 * 65_536));
  const args = ["--collapse-range", "--offset", "0", "--length", "65536", path];
  const { status, stderr, error } = spawnSync("fallocate", args, { encoding: "utf8" });
  rmSync(path);
  if (status === 0) return true;
  if (env.CI !== "true") return false;
  const why = error?.message ?? stderr.trim();
  throw new Error(
    `CI=true, and logs in ${folder} cannot be collapsed (${why}): set TMPDIR to a folder on ext4 or xfs`,
  );
}
