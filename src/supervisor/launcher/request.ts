/** Requests to the zygote as bytes; launcher/launcher.c reads them. */
import { Buffer } from "node:buffer";
import type { Identity } from "../identity/identity.ts";
import type { LaunchRequest } from "./types.ts";

/** What the zygote accepts: its buffer, and its table of fields. */
export const maxRequestBytes = 2 * 2 ** 20;
const maxFields = 65_535;

/** The field that names a user; "" for the agent's own, which an agent that is not root cannot change. */
export function userField({ uid, gid, groups }: Identity, isRoot: boolean): string {
  return isRoot ? [uid, gid, ...groups].join(" ") : "";
}

/** Encodes a request; undefined if it is too long. */
export function encodeRequest(
  { mark, keeper, log, context, command }: LaunchRequest,
): Uint8Array | undefined {
  const { leaf, environment, workingDir, user } = context;
  return encodeFields([mark, keeper, leaf, log, environment, workingDir, user, ...command]);
}

export function encodeFields(fields: string[]): Uint8Array | undefined {
  const nul = fields.find((field) => field.includes("\0"));
  if (nul !== undefined) throw new Error(`${JSON.stringify(nul)} contains a NUL byte`);
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(""), "utf8");
  if (body.length + 4 > maxRequestBytes || fields.length > maxFields) return undefined;
  const head = Buffer.alloc(8);
  head.writeUInt32LE(body.length + 4, 0);
  head.writeUInt32LE(fields.length, 4);
  return Buffer.concat([head, body]);
}
