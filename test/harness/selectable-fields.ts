import { waitFor } from "../wait-for.ts";
import type { Cluster } from "./cluster.ts";

/** Adds the selectable field `spec.nodeName` to the CRD in the cluster, or removes all of them, and waits until the server obeys. */
export async function setSelectableFields(cluster: Cluster, isSelectable: boolean): Promise<void> {
  const fields = ["spec", "status"].map((part) => ({ jsonPath: `.${part}.nodeName` }));
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ncapps.app.example.com";
  const { status, body } = await cluster.request(path, {
    method: "PATCH",
    timeoutMs: 60_000,
    contentType: "application/json-patch+json",
    // "add" also replaces what is there.
    body: [{ op: "add", path: "/spec/versions/0/selectableFields", value: isSelectable ? fields : [] }],
  });
  if (status !== 200) throw new Error(`cannot patch the CRD: ${status} ${body}`);
  await waitFor("the server serves the changed CRD", async () => {
    const selected = "/apis/app.example.com/v1alpha1/ncapps?limit=1&fieldSelector=spec.nodeName=none";
    // The agents of a fleet all list again now: the server may be busy.
    const answer = await cluster.request(selected).catch(() => undefined);
    return answer?.status === (isSelectable ? 200 : 400);
  });
}
