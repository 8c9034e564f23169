import type { Schema } from "./schema-type.ts";
import { envVar } from "./env.ts";
import { account, optionalPath, path, pathOrURL, sha256, withoutNUL } from "./patterns.ts";

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

/** What to run. A change of these fields restarts the app. */
export const program = {
  shellFile: {
    type: "string",
    description: "Script that starts the app: an absolute path on the node, or an https:// or http:// URL. " +
      "It runs with its shebang, without one with sh. The script may stay in the foreground, or start " +
      "background processes and exit 0: the app runs while any process in its cgroup runs. Empty: nothing to run yet.",
    pattern: pathOrURL,
    maxLength: 4_096,
  },
  shellFileSHA256: {
    type: "string",
    description:
      "SHA-256 digest of the script in hex. The agent never runs a script with another digest. Required for http:// URLs.",
    pattern: sha256,
    maxLength: 64,
  },
  args: {
    type: "array",
    description: "Arguments of the script, passed unchanged.",
    "x-kubernetes-list-type": "atomic",
    maxItems: 4_096,
    items: { type: "string", pattern: withoutNUL, maxLength: 131_072 },
  },
  env: {
    type: "array",
    description: "Environment variables of the app. The app inherits nothing from the agent's environment.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    maxItems: 1_024,
    items: envVar,
  },
  envFile: {
    type: "string",
    description:
      "File on the node with variables of the app, as in EnvironmentFile= of systemd: an absolute path, with a leading `-` if the file " +
      "may be missing. It is read at every start, with the rights of the app's user. `env` overrides it.",
    pattern: optionalPath,
    maxLength: 4_096,
  },
  workingDir: {
    type: "string",
    description: "Working directory of the script, an absolute path. Default: /.",
    pattern: path,
    maxLength: 4_096,
  },
  runAsUser: userOrGroup("Name or ID of the user that runs the app. Default: the user of the agent."),
  runAsGroup: userOrGroup(
    "Name or ID of the group that the app runs with. Default: the primary group of the user.",
  ),
} as const satisfies { [field: string]: Schema };
