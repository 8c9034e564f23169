import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { manifest } from "../builders.ts";

/** Creates an NCApp in the namespace "default". */
export function createApp(client: KubeClient, name: string, spec: NCAppSpec): Promise<NCApp> {
  return client.request({ method: "POST", path: ncappPath("default"), body: manifest(name, spec) });
}
