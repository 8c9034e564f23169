/** The image of the controllers: its layout, and a run of its root with the libraries of Debian. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { buildImage } from "../../tools/release/image.ts";
import { fetchLibraries } from "../../tools/release/libraries.ts";
import { writeTar } from "../../tools/release/tar.ts";
import { whyNotInstall } from "../../tools/test/install-part.ts";
import { hostArchitecture } from "../../tools/build/node-binary.ts";
import { tempFolder } from "../temp-folder.ts";

const sourceDate = 1_700_000_000;

/** Unpacks a layout and checks the digest and size of everything that its index reaches. */
function readLayout(dir: string, image: Uint8Array) {
  const file = join(dir, "image.tar");
  const layout = join(dir, "layout");
  mkdirSync(layout);
  writeFileSync(file, image);
  execFileSync("tar", ["-xf", file, "-C", layout]);
  interface Descriptor {
    digest: string;
    size: number;
    platform?: { architecture: string };
  }
  const blob = ({ digest, size }: Descriptor) => {
    const [algorithm = "", hex = ""] = digest.split(":");
    const data = readFileSync(join(layout, "blobs", algorithm, hex));
    assert.equal(createHash(algorithm).update(data).digest("hex"), hex);
    assert.equal(data.length, size);
    return data;
  };
  const read = (descriptor: Descriptor) => JSON.parse(String(blob(descriptor)));
  assert.deepEqual(JSON.parse(readFileSync(join(layout, "oci-layout"), "utf8")), {
    imageLayoutVersion: "1.0.0",
  });
  const { manifests: [index] } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
  const images = read(index).manifests.map((descriptor: Descriptor) => {
    const manifest = read(descriptor);
    const layers = manifest.layers.map((layer: Descriptor) => blob(layer)) as Uint8Array[];
    return { arch: descriptor.platform?.architecture, config: read(manifest.config), layers };
  }) as {
    arch: string;
    config: { architecture: string; config: Record<string, unknown> };
    layers: Uint8Array[];
  }[];
  const reached = 2 * images.length + 1 + new Set(images.flatMap(({ layers }) => layers.map(String))).size;
  assert.equal(readdirSync(join(layout, "blobs/sha256")).length, reached, "nothing else is in it");
  return images;
}

test("the image is a layout of both architectures that does not run as root, the same bytes each time", async (t) => {
  const dir = tempFolder(t).path;
  const executable = join(dir, "nckubelet");
  writeFileSync(executable, "the executable");
  const build = () =>
    buildImage({
      executables: { amd64: executable, arm64: executable },
      libraries: async (
        arch,
      ) => [{ path: `lib/${arch}.so`, data: arch }, { path: "lib/any.so", link: `${arch}.so` }],
      version: "1.2.3",
      sourceDate,
    });
  const image = await build();
  assert.deepEqual(await build(), image);
  const images = readLayout(dir, image);
  assert.deepEqual(images.map(({ arch }) => arch), ["amd64", "arm64"]);
  for (const { arch, config } of images) {
    assert.equal(config.architecture, arch);
    assert.equal(config.config.User, "65532:65532");
    assert.deepEqual([config.config.Entrypoint, config.config.Cmd], [["nckubelet"], ["controller"]]);
  }
});

test("writeTar() sorts, gives every file to root at one time, and refuses a name that does not fit", (t) => {
  const dir = tempFolder(t).path;
  writeFileSync(
    join(dir, "a.tar"),
    writeTar([{ path: "b/c", data: "x".repeat(513), mode: 0o755 }, { path: "b/" }, {
      path: "a",
      link: "b/c",
    }], sourceDate),
  );
  const listed = execFileSync("tar", ["--numeric-owner", "--utc", "-tvf", join(dir, "a.tar")], {
    encoding: "utf8",
  });
  assert.deepEqual(listed.trim().split("\n").map((line) => line.replaceAll(/ +/g, " ")), [
    "lrwxrwxrwx 0/0 0 2023-11-14 22:13 a -> b/c",
    "drwxr-xr-x 0/0 0 2023-11-14 22:13 b/",
    "-rwxr-xr-x 0/0 513 2023-11-14 22:13 b/c",
  ]);
  assert.throws(() => writeTar([{ path: "x".repeat(101) }], 0), /more than 100 bytes/);
});

test("Node runs in the image's root as its user, with no file but the libraries of Debian", {
  skip: whyNotInstall() ?? false,
}, async (t) => {
  const dir = tempFolder(t).path;
  const arch = hostArchitecture();
  const found = await fetchLibraries(arch).catch((error: Error) => error.message);
  if (typeof found === "string" && process.env.CI !== "true") {
    return t.skip(`no packages of Debian: ${found}`);
  }
  assert.ok(Array.isArray(found), String(found));
  const image = await buildImage({
    // The executable is this Node with the program in it: it needs the same libraries.
    executables: { [arch]: process.execPath },
    libraries: async () => found,
    version: "1.2.3",
    sourceDate,
    level: 1,
  });
  const root = join(dir, "root");
  mkdirSync(root);
  for (const layer of readLayout(dir, image)[0]!.layers) {
    execFileSync("tar", ["-xz", "-C", root], { input: layer });
  }
  const program =
    "console.log(process.version, process.getuid(), require('node:fs').readdirSync('/').join())";
  const said = execFileSync("/usr/sbin/chroot", [
    "--userspec=65532:65532",
    root,
    "/usr/local/bin/nckubelet",
    "-e",
    program,
  ], {
    encoding: "utf8",
    env: {},
  });
  const folders = ["etc", "lib", "lib64", "usr", "var"].filter((name) => readdirSync(root).includes(name));
  assert.equal(said.trim(), `${process.version} 65532 ${folders.join()}`);
});
