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

/** Returns the rights that the client lacks, such as `patch ncapps`. Throws a KubeError if there is no answer. */
export async function missingRights(
  client: KubeClient,
  rights: readonly Right[],
  signal?: AbortSignal,
): Promise<string[]> {
  const allowed = await Promise.all(rights.map((right) => mayI(client, right, signal)));
  const missing = new Map<string, Set<string>>();
  for (const right of rights.filter((_, index) => !allowed[index])) {
    const what = describe(right);
    missing.set(what, (missing.get(what) ?? new Set()).add(right.verb));
  }
  return [...missing].map(([what, verbs]) => `${[...verbs].join("/")} ${what}`);
}

function describe({ resource, subresource, namespace }: Right): string {
  const what = subresource ? `${resource}/${subresource}` : resource;
  return namespace ? `${what} in ${namespace}` : what;
}
