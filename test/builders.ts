/** Builds objects for tests: complete, with the fields that the test is about. */
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
  const generated = { ...objectMeta(metadata?.name ?? "web"), namespace: "default", generation: 1 };
  return { apiVersion, kind, metadata: { ...generated, ...metadata }, spec, ...(status && { status }) };
}

/** The metadata that the API server gives an object of this name. */
export function objectMeta(name: string): { name: string; uid: string; resourceVersion: string } {
  return { name, uid: `uid-${name}`, resourceVersion: "1" };
}

/** An NCApp as a user writes it. */
export function manifest(
  name: string,
  spec: NCAppSpec = {},
  metadata: Partial<NCApp["metadata"]> = {},
): NCApp {
  return { apiVersion, kind, metadata: { name, ...metadata }, spec };
}
