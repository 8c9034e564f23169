/** A captured machine as folders: its `/proc`, and a tree of plain files in place of its cgroup mount. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../temp-folder.ts";

/** Creates the scene in a new folder. `path` maps a path of the captured machine to one below it. */
export function layOutScene(name: string, t: { after(fn: () => void): void }) {
  const fixtures = new URL(`./fixtures/${name}/`, import.meta.url).pathname;
  const base = tempFolder(t).path;
  const path = (original: string) => join(base, original);
  const procRoot = path("/proc");
  mkdirSync(join(procRoot, "self"), { recursive: true });
  const mountinfo = readFileSync(join(fixtures, "mountinfo"), "utf8").replaceAll(
    "/sys/fs/cgroup",
    path("/sys/fs/cgroup"),
  );
  writeFileSync(join(procRoot, "self/mountinfo"), mountinfo);
  cpSync(join(fixtures, "self-cgroup"), join(procRoot, "self/cgroup"));
  cpSync(join(fixtures, "proc-cgroups"), join(procRoot, "cgroups"));
  const controllers = existsSync(join(fixtures, "controllers"))
    ? readFileSync(join(fixtures, "controllers"), "utf8")
    : "";
  const addCgroup = (original: string, files: Record<string, string> = {}) => {
    const dir = path(original);
    mkdirSync(dir, { recursive: true });
    const all = {
      "cgroup.controllers": controllers,
      "cgroup.procs": "",
      "cgroup.subtree_control": "",
      ...files,
    };
    for (const [file, text] of Object.entries(all)) writeFileSync(join(dir, file), text);
    return dir;
  };
  return { procRoot, sysRoot: path("/sys/fs/cgroup"), path, addCgroup };
}
