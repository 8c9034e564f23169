import type { Schema } from "./schema-type.ts";
import { envVar } from "./env.ts";
import { account, path, pathOrURL, sha256, withoutNUL } from "./patterns.ts";

const userOrGroup = (description: string) =>
  ({
    description,
    "x-kubernetes-int-or-string": true,
    minimum: 0,
    // The last id, 4294967295, is -1: "no change" to the kernel.
    maximum: 4_294_967_294,
    pattern: account,
    maxLength: 64,
  }) as const satisfies Schema;

/** What to run: these fields restart the app when they change. */
export const program = {
  shellFile: {
    type: "string",
    description:
      "Script that deploys and starts the app: an absolute path on the node, or an https:// or http:// URL. " +
      "It is run by its shebang if it is executable, else by sh. It may stay in the foreground, or put the app in the " +
      "background and exit 0: the app lives while any process in its cgroup lives. Empty: nothing to run yet.",
    pattern: pathOrURL,
    maxLength: 4_096,
  },
  shellFileSHA256: {
    type: "string",
    description:
      "SHA-256 digest of the script in hex. A script with another digest is never run. Required for http://.",
    pattern: sha256,
    maxLength: 64,
  },
  args: {
    type: "array",
    description: "Arguments of the script, taken as they are.",
    "x-kubernetes-list-type": "atomic",
    maxItems: 4_096,
    items: { type: "string", pattern: withoutNUL, maxLength: 131_072 },
  },
  env: {
    type: "array",
    description: "Variables of the app's environment. Nothing of the agent's own environment is passed on.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    maxItems: 1_024,
    items: envVar,
  },
  workingDir: {
    type: "string",
    description: "Folder in which the script starts, an absolute path. Default: /.",
    pattern: path,
    maxLength: 4_096,
  },
  runAsUser: userOrGroup("Name or id of the user that the app runs as. Default: the agent's user."),
  runAsGroup: userOrGroup(
    "Name or id of the group that the app runs as. Default: the primary group of the user.",
  ),
} as const satisfies { [field: string]: Schema };
