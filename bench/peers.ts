/**
 * Installs alternatives to nckubelet into the cache folder outside the checkout on first use: Debian packages, unpacked and not
 * installed, and pm2 from npm. A peer that is not available is a value with the reason, so that a run continues without it.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { cacheDir } from "../test/harness/parts.ts";
import { must } from "../tools/command.ts";

/** The folder of a peer, or why it is not available. */
export type Peer = { folder: string } | { missing: string };

const pm2Version = "7.0.4";

/** crun and runc with their libraries; the folder is a root file system. */
export function findRuntimes(): Promise<Peer> {
  return findPeer("oci-runtimes", (folder) => unpack(folder, ["crun", "runc", "libyajl2", "libseccomp2"]));
}

/** supervisord and supervisorctl, with their Python modules. */
export function findSupervisor(): Promise<Peer> {
  return findPeer("supervisor", (folder) => unpack(folder, ["supervisor", "python3-pkg-resources"]));
}

/** pm2; its program is node_modules/.bin/pm2 in the folder. */
export function findPm2(): Promise<Peer> {
  return findPeer(`pm2-${pm2Version}`, async (folder) => {
    await must("npm", ["install", "--no-audit", "--no-fund", "--prefix", folder, `pm2@${pm2Version}`]);
  });
}

async function findPeer(name: string, install: (folder: string) => Promise<void>): Promise<Peer> {
  const folder = join(cacheDir(), "peers", name);
  if (existsSync(folder)) return { folder };
  let work = "";
  try {
    await mkdir(dirname(folder), { recursive: true });
    work = await mkdtemp(`${folder}.`);
    await install(work);
    await rename(work, folder);
    return { folder };
  } catch (error) {
    if (work) await rm(work, { recursive: true, force: true });
    return { missing: `${name} cannot be had: ${(error as Error).message.split("\n").at(-1)}` };
  }
}

async function unpack(folder: string, packages: string[]): Promise<void> {
  await must("apt-get", ["download", "--quiet", ...packages], { cwd: folder });
  for (const file of (await readdir(folder)).filter((name) => name.endsWith(".deb"))) {
    await must("dpkg", ["-x", join(folder, file), folder]);
    await rm(join(folder, file));
  }
}

/** The PATH with Node 26 first, for a peer that is a Node program. */
export function pathWithNode(): string {
  return `${dirname(process.execPath)}:${process.env.PATH}`;
}
