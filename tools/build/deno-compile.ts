import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { runCommand } from "../command.ts";
import { asideFile } from "./bundle.ts";
import type { Architecture } from "./node-binary.ts";

const targets: Record<Architecture, string> = {
  amd64: "x86_64-unknown-linux-gnu",
  arm64: "aarch64-unknown-linux-gnu",
};

/**
 * Builds an executable from the bundle with `deno compile`. It needs `denort`, which Deno downloads unless DENORT_BIN names one.
 * A failed download is not an error: the reason is returned.
 */
export async function compileByDeno(
  deno: string,
  bundle: string,
  output: string,
  arch: Architecture,
): Promise<{ skipped: string } | undefined> {
  // In the checkout Deno would pack all of node_modules.
  const work = await mkdtemp(join(tmpdir(), "nckubelet-deno-"));
  try {
    await copyFile(bundle, join(work, "nckubelet.cjs"));
    await copyFile(join(dirname(bundle), asideFile), join(work, asideFile));
    const result = join(work, "nckubelet");
    const flags = [
      "--allow-all",
      "--no-check",
      "--no-config",
      "--no-npm",
      "--v8-flags=--max-semi-space-size=1",
    ];
    const { code, stderr } = await runCommand(
      deno,
      [
        "compile",
        ...flags,
        "--include",
        asideFile,
        "--target",
        targets[arch],
        "--output",
        result,
        "nckubelet.cjs",
      ],
      { cwd: work, env: { NO_COLOR: "1" } },
    );
    if (code === 0) {
      // The folders may be on two file systems.
      await copyFile(result, `${output}.new`);
      await rename(`${output}.new`, output);
      return undefined;
    }
    const download = /^.*\berror sending request.*$/m.exec(stderr)?.[0] ??
      /^.*\bdownload.*$/im.exec(stderr)?.[0];
    if (download && !process.env.DENORT_BIN) {
      return {
        skipped: `denort cannot be downloaded (${
          download.replace(/^[\s\d:]+/, "")
        }), and DENORT_BIN names none`,
      };
    }
    throw new Error(`deno compile: exit code ${code}\n${stderr}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
