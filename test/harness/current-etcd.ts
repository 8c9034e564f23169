/**
 * A copy of etcd that reports a version whose progress requests API servers rely on, which lets them serve consistent lists and
 * streaming lists from their cache, as on every current cluster. Debian's etcd is older (record 15): with it, a list by node
 * makes the API server read and decode all apps of the cluster.
 *
 * Caveat: the copy has the faults of its real version: a list may miss what was written at the same moment. For measurements, and for the streaming of lists.
 */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { must } from "../../tools/command.ts";

/** Versions before this one whose text has the same length, so that it can be replaced. */
const outdated = /^3\.4\.(?:[12]\d|30)$/;
const unusable = /^3\.4\.\d$|^3\.5\.(?:\d|1[0-2])$/;
const reported = "3.4.31";

/** Writes the copy to `file` and returns its path; returns `etcd` itself if it is recent. */
export async function currentEtcd(etcd: string, file: string): Promise<string> {
  const version = /etcd Version: (\S+)/.exec(await must(etcd, ["--version"]))?.[1] ?? "";
  if (unusable.test(version)) {
    throw new Error(`${etcd} is ${version}, which cannot be made to report ${reported}`);
  }
  if (!outdated.test(version)) return etcd;
  const program = await readFile(etcd);
  const at = program.indexOf(version);
  if (at < 0 || program.indexOf(version, at + 1) >= 0) {
    throw new Error(`cannot tell where ${etcd} has its version ${version}`);
  }
  program.write(reported, at);
  await writeFile(file, program);
  await chmod(file, 0o755);
  return file;
}
