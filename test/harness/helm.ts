/** Finds Helm: the program that HELM names, else that of the PATH. Debian has no package of it, so it is no part that is installed. */
import { delimiter, join } from "node:path";
import process from "node:process";
import { executable } from "./parts.ts";

export function findHelm(env = process.env): { path: string } | { missing: string } {
  const places = env.HELM
    ? [env.HELM]
    : (env.PATH ?? "").split(delimiter).map((folder) => join(folder, "helm"));
  const path = places.map(executable).find(Boolean);
  return path ? { path } : { missing: "no Helm here: set HELM to the program, or put it on the PATH" };
}
