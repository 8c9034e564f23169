/** The control plane that `--kubernetes` asks for. */
import { basename } from "node:path";
import process from "node:process";
import { controlPlaneFolders } from "../../test/harness/parts.ts";

/** The first version that every agent supports; it has a part of its own. */
const oldest = "1.20";

/** Returns the part that has this version. */
export function controlPlanePart(version?: string): string {
  return version === "oldest" || version?.startsWith(oldest) ? "control-plane-oldest" : "control-plane";
}

/**
 * Returns the folder of a version; undefined if that is "oldest", and what the tests run on anyway. Throws if it is not there, so that
 * nothing passes because it could not be installed.
 */
export function findVersion(
  version: string,
  folders = controlPlaneFolders(),
  env = process.env,
): string | undefined {
  const start = `control-plane-${version === "oldest" ? oldest : version}`;
  const chosen = folders.find((folder) => basename(folder).startsWith(start));
  if (!chosen) throw new Error(`no control plane ${version}: there are ${folders.join(", ") || "none"}`);
  return version === "oldest" && chosen === (env.KUBEBUILDER_ASSETS || folders[0]) ? undefined : chosen;
}
