/** File and folder names for apps. */
import { createHash } from "node:crypto";
import { isSafeName, isSafeNamespace } from "./names.ts";

/** Leaves space for the suffixes of temporary files in the 255 bytes that Linux file systems allow. */
const maxLength = 200;
const digestLength = 16;

/**
 * Returns `default/web` as one path component. Neither part can contain an underscore, so no two apps share it. A name that is too
 * long for a file system is shortened and gets a digest.
 */
export function appFileName(namespace: string, name: string): string {
  // A longer namespace would be shortened itself, and two namespaces could share a folder.
  const bad = !isSafeNamespace(namespace) ? namespace : !isSafeName(name) ? name : undefined;
  if (bad !== undefined) throw new Error(`cannot make a path from the name ${JSON.stringify(bad)}`);
  const plain = `${namespace}_${name}`;
  if (plain.length <= maxLength) return plain;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, digestLength);
  return `${plain.slice(0, maxLength - digestLength - 1)}_${digest}`;
}
