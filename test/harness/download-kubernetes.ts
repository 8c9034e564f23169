/**
 * Downloads the programs of a current control plane from Kubernetes' release site.
 *
 * Usage: node download-kubernetes.ts FOLDER. The exit code is 1 if that fails; standard output then has the reason.
 * Guarantees: the folder is there only with the four programs of the archive whose digest is pinned here. A site that does not answer
 * within seconds, or that stops sending, is given up.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { pipeline } from "node:stream/promises";
import { must } from "../../tools/command.ts";
import { currentVersion } from "./kubernetes-version.ts";

/** An archive of a release: its digests are in the changelog of Kubernetes. */
export type Release = { url: string; sha512: string };

const site = `https://dl.k8s.io/v${currentVersion}`;
const releases: Record<string, Release> = {
  x64: {
    url: `${site}/kubernetes-server-linux-amd64.tar.gz`,
    sha512:
      "8f6e609a6aa2d33e87f321ab7528c590749d7c190724dfcf4b0b754b4dba140b7dc503b83ec4658fe37b190f2bdda730db79d14af54a146e34cd428de38bff3c",
  },
  arm64: {
    url: `${site}/kubernetes-server-linux-arm64.tar.gz`,
    sha512:
      "5551e99b78f049668215e2a3f48901cfa170313a03255d45bd801c8d3d00a19c89d6e17858d9f9bbbe4017772cb97b3abd00a10683e97959bda8f972fd8b3bde",
  },
};

const programs = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/** How long to wait for an answer, and then for more of it. */
export type Patience = { answerMs: number; moreMs: number };

/** Puts the programs of a release into a new folder. */
export async function downloadKubernetes(
  folder: string,
  { url, sha512 }: Release,
  patience: Patience = { answerMs: 5000, moreMs: 30_000 },
): Promise<void> {
  const part = `${folder}.part`;
  await mkdir(part, { recursive: true });
  try {
    const archive = join(part, "archive");
    const digest = await download(url, archive, patience);
    if (digest !== sha512) throw new Error(`${url} has the SHA-512 digest ${digest}, not ${sha512}`);
    const members = programs.map((name) => `kubernetes/server/bin/${name}`);
    await must("tar", ["-xzf", archive, "-C", part, "--strip-components=3", ...members]);
    await rm(archive);
    await rename(part, folder);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** Writes what the URL has to a file and returns its digest. */
async function download(url: string, file: string, { answerMs, moreMs }: Patience): Promise<string> {
  const hash = createHash("sha512");
  const silence = new AbortController();
  const giveUp = (ms: number) => silence.abort(new Error(`nothing came for ${ms / 1000} s`));
  let timer = setTimeout(giveUp, answerMs, answerMs);
  try {
    const response = await fetch(url, { signal: silence.signal });
    if (!response.ok || !response.body) throw new Error(`the answer is ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(giveUp, moreMs, moreMs);
    const hashed = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        timer.refresh();
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(hashed(response.body), createWriteStream(file));
    return hash.digest("hex");
  } catch (cause) {
    const { message, cause: deeper } = cause as Error;
    throw new Error(`${url}: ${deeper instanceof Error ? deeper.message : message}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

if (import.meta.main) {
  try {
    const release = releases[process.arch];
    if (!release) throw new Error(`there is none for ${process.arch}`);
    await downloadKubernetes(process.argv[2]!, release);
  } catch (error) {
    console.log(`cannot be downloaded: ${(error as Error).message.split("\n")[0]}`);
    process.exitCode = 1;
  }
}
