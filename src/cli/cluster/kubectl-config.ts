import { join } from "node:path";

/** The kubeconfig that kubectl reads unless it is told another: the first of KUBECONFIG, or the file in the home folder. */
export function kubectlConfig(env: Record<string, string | undefined>): string {
  return env.KUBECONFIG?.split(":").find(Boolean) ?? join(env.HOME ?? "/root", ".kube/config");
}
