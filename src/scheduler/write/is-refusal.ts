import { KubeError } from "../../kube/kube-error.ts";

/** True where the server understood a request and will not have it, so that the same again is in vain. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof KubeError) || error.status === undefined) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}
