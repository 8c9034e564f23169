/**
 * The image of the controllers: an OCI image layout of both architectures in one tar file, which podman, skopeo, crane and containerd
 * read. Made without a daemon.
 *
 * Guarantees: the same executables and libraries give the same bytes. The root holds the executable, the libraries that it needs, and
 * the names of its user: no shell, no package manager. It runs as user 65532 and writes nothing.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Architecture } from "../build/node-binary.ts";
import { type TarEntry, writeTar } from "./tar.ts";

export interface ImageParts {
  executables: Partial<Record<Architecture, string>>;
  libraries: (arch: Architecture) => Promise<TarEntry[]>;
  version: string;
  /** In seconds since 1970. */
  sourceDate: number;
  /** The compression level of layers, 1 to 9. */
  level?: number;
}

const user = 65_532;

/** Returns the tar file of the layout. */
export async function buildImage(
  { executables, libraries, version, sourceDate, level = 9 }: ImageParts,
): Promise<Buffer> {
  const blobs: TarEntry[] = [];
  const add = (mediaType: string, data: Buffer | string) => {
    const digest = createHash("sha256").update(data).digest("hex");
    blobs.push({ path: `blobs/sha256/${digest}`, data });
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(data) };
  };
  const created = new Date(sourceDate * 1000).toISOString();
  const annotations = {
    "org.opencontainers.image.created": created,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.title": "nckubelet",
    "org.opencontainers.image.version": version,
  };
  const manifests: object[] = [];
  for (const [arch, path] of Object.entries(executables) as [Architecture, string][]) {
    const layers: object[] = [];
    const digests: string[] = [];
    // The libraries change less often than the executable: nodes have them already.
    const base = [...await libraries(arch), ...accounts];
    const own = [{ path: "usr/local/bin/nckubelet", data: await readFile(path), mode: 0o755 }];
    for (const entries of [base, own]) {
      const tar = writeTar(withFolders(entries), sourceDate);
      digests.push(`sha256:${createHash("sha256").update(tar).digest("hex")}`);
      layers.push(add("application/vnd.oci.image.layer.v1.tar+gzip", await promisify(gzip)(tar, { level })));
    }
    const config = add(
      "application/vnd.oci.image.config.v1+json",
      JSON.stringify({
        created,
        architecture: arch,
        os: "linux",
        config: {
          User: `${user}:${user}`,
          Env: ["PATH=/usr/local/bin"],
          Entrypoint: ["nckubelet"],
          Cmd: ["controller"],
          WorkingDir: "/",
          Labels: annotations,
        },
        rootfs: { type: "layers", diff_ids: digests },
        history: digests.map(() => ({ created, created_by: "nckubelet release" })),
      }),
    );
    const manifest = add(
      "application/vnd.oci.image.manifest.v1+json",
      JSON.stringify({
        schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        config,
        layers,
        annotations,
      }),
    );
    manifests.push({ ...manifest, platform: { architecture: arch, os: "linux" } });
  }
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const index = add(mediaType, JSON.stringify({ schemaVersion: 2, mediaType, manifests, annotations }));
  const name = { "org.opencontainers.image.ref.name": version };
  return writeTar(
    withFolders([
      { path: "oci-layout", data: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
      {
        path: "index.json",
        data: JSON.stringify({ schemaVersion: 2, mediaType, manifests: [{ ...index, annotations: name }] }),
      },
      // Two architectures may share a blob.
      ...new Map(blobs.map((blob) => [blob.path, blob])).values(),
    ]),
    sourceDate,
  );
}

const accounts: TarEntry[] = [
  {
    path: "etc/passwd",
    data: `root:x:0:0:root:/:/sbin/nologin\nnckubelet:x:${user}:${user}::/:/sbin/nologin\n`,
  },
  { path: "etc/group", data: `root:x:0:\nnckubelet:x:${user}:\n` },
  { path: "etc/nsswitch.conf", data: "hosts: files dns\n" },
];

function withFolders(entries: TarEntry[]): TarEntry[] {
  const folders = new Set<string>();
  for (const { path } of entries) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) folders.add(`${folder}/`);
  }
  return [
    ...entries,
    ...[...folders].filter((path) => !entries.some((entry) => entry.path === path)).map((path) => ({ path })),
  ];
}
