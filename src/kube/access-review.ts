import type { KubeClient } from "./client/client.ts";

/** A permission, in the words of the API server. */
export interface Right {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** Asks the API server whether the client's identity has this right. */
export async function mayI(
  client: KubeClient,
  resourceAttributes: Right,
  signal?: AbortSignal,
): Promise<boolean> {
  const { status } = await client.request<{ status?: { allowed?: boolean } }>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    },
    signal,
  });
  return status?.allowed === true;
}
