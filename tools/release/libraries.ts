/**
 * The shared libraries that the executable needs, from Debian's packages: its Node is linked with glibc and libstdc++.
 *
 * They are downloaded by apt, which checks Debian's signatures, and unpacked, not installed; so one machine makes the images of both
 * architectures. The same packages give the same files. An image names their versions where scanners look for them
 * (var/lib/dpkg/status.d, as in distroless images).
 */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Architecture } from "../build/node-binary.ts";
import { must } from "../command.ts";
import type { TarEntry } from "./tar.ts";

const suite = "bookworm";
const packages = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1"];
const triplets = { amd64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" } as const;
/** Where the kernel looks for the loader: the only absolute path in an executable. */
const loaders = { amd64: "lib64/ld-linux-x86-64.so.2", arm64: "lib/ld-linux-aarch64.so.1" } as const;
const names = [
  "libatomic.so.1",
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "libstdc++.so.6",
  // For names: glibc opens them when a program asks for a host.
  "libnss_dns.so.2",
  "libnss_files.so.2",
  "libresolv.so.2",
];

/** Returns the entries of an image; throws if the machine has no apt or no way to Debian's archive. */
export async function fetchLibraries(arch: Architecture): Promise<TarEntry[]> {
  const work = await mkdtemp(join(tmpdir(), "nckubelet-libraries-"));
  try {
    await download(arch, work);
    const debs = (await readdir(work)).filter((name) => name.endsWith(".deb")).sort();
    const root = join(work, "root");
    for (const deb of debs) await must("dpkg-deb", ["-x", join(work, deb), root]);
    const folders = [`lib/${triplets[arch]}`, `usr/lib/${triplets[arch]}`].map((folder) =>
      join(root, folder)
    );
    const libraries = await Promise.all(names.map(async (name) => ({
      path: `usr/lib/${triplets[arch]}/${name}`,
      data: await readFile(await find(folders, name)),
      mode: 0o755,
    })));
    const loader = await readFile(await find(folders, basename(loaders[arch])));
    return [
      { path: loaders[arch], data: loader, mode: 0o755 },
      ...libraries,
      ...await Promise.all(debs.map(async (deb) => ({
        path: `var/lib/dpkg/status.d/${deb.split("_")[0]}`,
        data: await must("dpkg-deb", ["-f", join(work, deb)]),
      }))),
      ...await Promise.all(packages.map(async (name) => ({
        path: `usr/share/doc/${name}/copyright`,
        data: await readFile(
          await realpath(join(root, `usr/share/doc/${docFolder(name)}/copyright`)),
        ),
      }))),
    ];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** GCC's libraries share one text. */
function docFolder(name: string): string {
  return name === "libc6" ? name : "gcc-12-base";
}

async function find(folders: string[], name: string): Promise<string> {
  for (const folder of folders) {
    const path = await realpath(join(folder, name)).catch(() => undefined);
    if (path) return path;
  }
  throw new Error(`Debian's packages ${packages.join(", ")} have no ${name}`);
}

async function download(arch: Architecture, work: string): Promise<void> {
  const apt = join(work, "apt");
  for (const folder of ["parts", "lists/partial", "cache/archives/partial"]) {
    await mkdir(join(apt, folder), { recursive: true });
  }
  const mirror = (await must("apt-get", [
    ...["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"],
  ])).split("\n")[0];
  if (!mirror) throw new Error("apt has no sources of Debian");
  const keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  await writeFile(
    join(apt, "parts/debian.list"),
    `deb [arch=${arch} signed-by=${keys}] ${mirror} ${suite} main\n`,
  );
  const options = {
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": join(apt, "parts"),
    "Dir::State::lists": join(apt, "lists"),
    "Dir::State::status": "/dev/null",
    "Dir::Cache": join(apt, "cache"),
    "APT::Sandbox::User": "root",
    "APT::Architecture": arch,
    "APT::Architectures": arch,
    "Acquire::Languages": "none",
  };
  const words = ["-q", ...Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
  await must("apt-get", [...words, "update"]);
  await must("apt-get", [...words, "download", ...packages, "gcc-12-base"], { cwd: work });
}
