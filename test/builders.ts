/** Objects for tests, complete but for what the test is about. */
import { apiVersion, kind } from "../src/api/names.ts";
import type { NCApp, NCAppSpec, NCAppStatus } from "../src/api/types.ts";

/** An NCApp as the API server returns it. */
export function ncapp(
  { metadata, spec = {}, status }: {
    metadata?: Partial<NCApp["metadata"]>;
    spec?: NCAppSpec;
    status?: NCAppStatus;
  } = {},
): NCApp & { metadata: { namespace: string; uid: string; resourceVersion: string } } {
  const name = metadata?.name ?? "web";
  const generated = { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1", generation: 1 };
  return { apiVersion, kind, metadata: { ...generated, ...metadata }, spec, ...(status && { status }) };
}
