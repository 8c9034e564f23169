/**
 * Assembles a release.
 *
 * Guarantees: the same executables and the same checkout give the same bytes in every file: no time, no trace of the machine, no
 * order of a folder gets in. The folder replaces the previous one atomically.
 * Caveat: zlib compresses, so another version of Node may produce other bytes.
 */
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip, gzipSync } from "node:zlib";
import { renderInstallManifests } from "../../src/api/install/install.ts";
import { bundledPackages } from "../build/bundle.ts";
import type { Architecture } from "../build/node-binary.ts";
import { checkout } from "../checkout.ts";
import { must } from "../command.ts";
import { buildChart } from "./chart.ts";
import { buildImage, type ImageParts } from "./image.ts";
import { buildKustomize } from "./kustomize.ts";
import { buildSbom } from "./sbom.ts";
import { writeTar } from "./tar.ts";

/** What a release is made of. */
export interface ReleaseParts {
  executables: Partial<Record<Architecture, string>>;
  /** The output folder; an existing one is replaced. */
  output: string;
  /** When the source was last changed, in seconds since 1970: not the time of the build, which would change the bytes. */
  sourceDate: number;
  /** Its future URL. */
  url?: string;
  /** A file with a private RSA key. */
  sign?: string;
  /** The compression level, 1 to 9. */
  level?: number;
  /** What the executables need in an image; without it there is none. */
  libraries?: ImageParts["libraries"];
}

/** Creates the folder and returns a line for each of its files. */
export async function assembleRelease(
  { executables, output, sourceDate, url = "", sign, level = 9, libraries }: ReleaseParts,
): Promise<string[]> {
  await mkdir(dirname(output), { recursive: true });
  const work = await mkdtemp(`${output}.`);
  try {
    for (const [arch, path] of Object.entries(executables)) {
      // Without a name or a time in its header, as gzip -n.
      const packed = createWriteStream(join(work, `nckubelet-linux-${arch}.gz`));
      await pipeline(createReadStream(path), createGzip({ level }), packed);
    }
    const installer = await readFile(join(checkout, "install.sh"), "utf8");
    await writeFile(join(work, "install.sh"), addressInstaller(installer, url), { mode: 0o755 });
    await writeFile(join(work, "manifests.yaml"), renderInstallManifests());
    await writeFile(join(work, "manifests-legacy.yaml"), renderInstallManifests({ minor: 0 }));
    const lock = JSON.parse(await readFile(join(checkout, "package-lock.json"), "utf8"));
    const { version } = lock;
    // Helm wants the name of the chart as the folder.
    await writeFile(
      join(work, `nckubelet-chart-${version}.tgz`),
      pack(await buildChart({ version }), "nckubelet/", sourceDate),
    );
    const base = buildKustomize({ version });
    await writeFile(join(work, "nckubelet-kustomize.tar.gz"), pack(base, "nckubelet/", sourceDate));
    if (libraries) {
      const image = await buildImage({ executables, libraries, version, sourceDate, level });
      await writeFile(join(work, "nckubelet-image.tar"), image);
    }
    const sbom = buildSbom(lock, await bundledPackages(join(checkout, "src/main.ts")));
    await writeFile(join(work, "nckubelet.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
    await copyFile(join(checkout, "LICENSE"), join(work, "LICENSE"));
    const names = (await readdir(work)).sort();
    const sums = await Promise.all(names.map((name) => sum(work, name)));
    await writeFile(join(work, "SHA256SUMS"), releaseLine(lock.version, sourceDate) + sums.join(""));
    if (sign !== undefined) {
      const [sums, signature] = ["SHA256SUMS", "SHA256SUMS.sig"].map((name) => join(work, name));
      await must("openssl", ["dgst", "-sha256", "-sign", sign, "-out", signature!, sums!]);
    }
    // Temporary folders are private; this one must be readable.
    await chmod(work, 0o755);
    await rm(output, { recursive: true, force: true });
    await rename(work, output);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const names = (await readdir(output)).sort();
  return await Promise.all(
    names.map(async (name) => `${name}: ${(await stat(join(output, name))).size} bytes`),
  );
}

/** Packs files below a folder. */
function pack(files: Map<string, string>, folder: string, sourceDate: number): Buffer {
  const entries = [...files].map(([path, data]) => ({ path: `${folder}${path}`, data }));
  return gzipSync(writeTar(entries, sourceDate), { level: 9 });
}

/** Returns the installer with the address of its release. */
export function addressInstaller(script: string, url: string): string {
  if (!/^(https?:\/\/[A-Za-z0-9._~:/%-]+)?$/.test(url)) {
    throw new Error(`--url ${JSON.stringify(url)}: not an address`);
  }
  const line = "  release_url=''\n";
  if (!script.includes(line)) throw new Error(`install.sh has no line ${JSON.stringify(line)}`);
  return script.replace(line, `  release_url='${url}'\n`);
}

/** The first line of SHA256SUMS, so that the signature covers version and date; sha256sum takes it for a comment. */
function releaseLine(version: string, sourceDate: number): string {
  return `# nckubelet ${version} ${new Date(sourceDate * 1000).toISOString().replace(/\.\d+Z$/, "Z")}\n`;
}

async function sum(folder: string, name: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(join(folder, name)), hash);
  return `${hash.digest("hex")}  ${name}\n`;
}
