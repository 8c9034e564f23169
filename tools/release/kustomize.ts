/** The kustomize base of the cluster's side: the files of `crd/` in one folder, the controllers, and tenancy as a component. */
import { installFiles, renderInstallFile, toYAML } from "../../src/api/install/install.ts";

const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization" };

/** Returns the files by their paths. `base` is what every cluster needs; overlays set the image and add `tenancy`. */
export function buildKustomize({ version }: { version: string }): Map<string, string> {
  const files = installFiles().filter(({ path }) => !path.startsWith("legacy/"));
  const isTenancy = (path: string) => path.startsWith("tenancy/");
  const base = files.filter(({ path }) => !isTenancy(path));
  const flat = (path: string) => path.split("/").at(-1)!;
  return new Map([
    [
      "base/kustomization.yaml",
      toYAML({
        ...kustomization,
        resources: base.map(({ path }) => flat(path)),
        images: [{ name: "nckubelet", newTag: version }],
      }),
    ],
    ...base.map((file): [string, string] => [`base/${flat(file.path)}`, renderInstallFile(file)]),
    [
      "tenancy/kustomization.yaml",
      toYAML({
        ...kustomization,
        apiVersion: "kustomize.config.k8s.io/v1alpha1",
        kind: "Component",
        resources: files.filter(({ path }) => isTenancy(path)).map(({ path }) => flat(path)),
      }),
    ],
    ...files.filter(({ path }) => isTenancy(path)).map((
      file,
    ): [string, string] => [file.path, renderInstallFile(file)]),
  ]);
}
