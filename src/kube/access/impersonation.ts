/** The headers of `as`, `as-uid`, `as-groups` and `as-user-extra`; of these, client-node 2.0.1 sends only `as`. Pure. */
import { Buffer } from "node:buffer";
import { isFields, type KubeconfigEntry } from "./kubeconfig-files.ts";
import type { Headers } from "./resolution.ts";

export function impersonationHeaders({ fields, at }: KubeconfigEntry): Headers {
  const { as: user, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = fields;
  const given = {
    ...(user ? { "impersonate-user": user as string } : {}),
    ...(uid ? { "impersonate-uid": uid as string } : {}),
    ...(groups ? { "impersonate-group": strings(groups, `${at}: as-groups`) } : {}),
    ...extraHeaders(extra, `${at}: as-user-extra`),
  };
  if (Object.keys(given).length > 0 && !user) {
    throw new Error(`${at}: as-uid, as-groups and as-user-extra need the user in "as"`);
  }
  return given;
}

function extraHeaders(extra: unknown, at: string): Headers {
  if (extra === undefined || extra === null) return {};
  if (!isFields(extra)) throw new Error(`${at} must be a map of lists of strings`);
  return Object.fromEntries(
    Object.entries(extra).map(([key, values]) => [
      `impersonate-extra-${escapeKey(key)}`,
      strings(values, `${at}: ${JSON.stringify(key.slice(0, 100))}`),
    ]),
  );
}

function strings(values: unknown, at: string): string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === "string")) return values;
  throw new Error(`${at} must be a list of strings`);
}

/** Header names have few characters; the server decodes the rest from percent signs. */
function escapeKey(key: string): string {
  return key.replace(
    /[^!#$&'*+\-.^_`|~0-9A-Za-z]/gu,
    (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(
        "",
      ),
  );
}
