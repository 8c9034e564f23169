import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { checkout } from "../../tools/checkout.ts";
import { addressInstaller, assembleRelease } from "../../tools/release/assemble.ts";
import { buildSbom } from "../../tools/release/sbom.ts";
import { tempFolder } from "../temp-folder.ts";
import { installScript } from "./sandbox.ts";

test("two builds of a release are the same byte for byte, and its sums are right", async (t) => {
  const { version } = JSON.parse(await readFile(join(checkout, "package.json"), "utf8"));
  const dir = tempFolder(t).path;
  const executable = join(dir, "executable");
  await writeFile(executable, "the executable ".repeat(1000));
  const read = async () => {
    const output = join(dir, "release");
    await assembleRelease({
      executables: { amd64: executable, arm64: executable },
      output,
      sourceDate: 1_800_000_000,
      libraries: async (arch) => [{ path: `lib/${arch}.so`, data: arch, mode: 0o755 }],
    });
    const names = (await readdir(output)).sort();
    return await Promise.all(
      names.map(async (name) => [name, await readFile(join(output, name))] as const),
    );
  };
  const first = await read();
  assert.deepEqual(await read(), first);
  assert.deepEqual(first.map(([name]) => name), [
    "LICENSE",
    "SHA256SUMS",
    "install.sh",
    "manifests-legacy.yaml",
    "manifests.yaml",
    `nckubelet-chart-${version}.tgz`,
    "nckubelet-image.tar",
    "nckubelet-kustomize.tar.gz",
    "nckubelet-linux-amd64.gz",
    "nckubelet-linux-arm64.gz",
    "nckubelet.cdx.json",
  ]);
  const files = new Map(first);
  assert.deepEqual(gunzipSync(files.get("nckubelet-linux-arm64.gz")!), await readFile(executable));
  // Magic, deflate, no flags: no name; no time.
  assert.equal(files.get("nckubelet-linux-amd64.gz")!.subarray(0, 8).toString("hex"), "1f8b080000000000");
  const sums = first.filter(([name]) => name !== "SHA256SUMS")
    .map(([name, content]) => `${createHash("sha256").update(content).digest("hex")}  ${name}\n`);
  assert.equal(
    String(files.get("SHA256SUMS")),
    `# nckubelet ${version} 2027-01-15T08:00:00Z\n${sums.join("")}`,
  );
  const sbom = String(files.get("nckubelet.cdx.json"));
  for (const name of ["undici", "%40kubernetes/client-node", "openid-client"]) {
    assert.ok(sbom.includes(`pkg:npm/${name}@`), `${name} ships`);
  }
  assert.ok(
    !sbom.includes("pkg:npm/form-data@"),
    "client-node needs it for requests that this program does not send",
  );
  assert.deepEqual((await readdir(dir)).sort(), ["executable", "release"]);
  assert.equal((await stat(join(dir, "release"))).mode & 0o777, 0o755, "a web server may read it");
});

test("the installer of a release knows its address, and refuses shell code in it", async () => {
  const script = await readFile(installScript, "utf8");
  assert.match(
    addressInstaller(script, "https://x.example/a"),
    /^ {2}release_url='https:\/\/x\.example\/a'$/m,
  );
  assert.throws(() => addressInstaller(script, "https://x'; reboot"), /not an address/);
});

test("the bill of materials lists what ships, with its digests, and nothing else", () => {
  const sbom = buildSbom({
    name: "nckubelet",
    version: "1.0.0",
    packages: {
      "": { license: "Apache-2.0" },
      "node_modules/node": { version: "26.0.0", license: "MIT" },
      "node_modules/esbuild": { version: "1.0.0" },
      "node_modules/unused": { version: "1.0.0" },
      "node_modules/a/node_modules/@b/c": { version: "2.0.0", license: "MIT", integrity: "sha512-AAE=" },
    },
  }, new Set(["node_modules/a/node_modules/@b/c"])) as { components: Record<string, unknown>[] };
  assert.deepEqual(sbom.components.map(({ purl }) => purl), [
    "pkg:generic/node@26.0.0",
    "pkg:npm/%40b/c@2.0.0",
  ]);
  assert.deepEqual(sbom.components[1]?.hashes, [{ alg: "SHA-512", content: "0001" }]);
});
