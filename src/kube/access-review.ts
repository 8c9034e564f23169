import type { KubeClient } from "./client/client.ts";

/** What may be asked of the API server, as it names it itself. */
export interface Right {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** Whether the client's identity has this right, by the API server's own word. */
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
