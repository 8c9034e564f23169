/**
 * Requests for certificates (PKCS#10, RFC 2986) with an ECDSA key on P-256: made on nodes, read where they are approved. Node has no
 * functions for them.
 *
 * Guarantees: the reader takes exactly the form that is made here: one key type, O and CN in the subject, DNS names and addresses as
 * the only extension, and a valid signature. Anything else, and more than 4 KB, is an error that says what was found. Names are signed
 * as they are: one that others could read as another name or as an address is refused.
 */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { isIP } from "node:net";
import {
  bits,
  type Element,
  expectTag,
  extension,
  nameAttribute,
  oid,
  oids,
  readAll,
  readOne,
  sequence,
  tagged,
  tags,
  toPEM,
} from "./der.ts";
import { addressBytes } from "../special-addresses.ts";

export interface RequestedCertificate {
  organization: string;
  commonName: string;
  /** DNS names and IP addresses. */
  names: string[];
}

export interface ParsedRequest extends RequestedCertificate {
  /** `sha256:HEX` of the public key. */
  key: string;
}

const label = "CERTIFICATE REQUEST";
const longest = 4096;
const mostNames = 32;
const algorithm = sequence(oid(oids.ecdsaWithSHA256));
/** The public key of every P-256 certificate begins so; 64 bytes follow. */
const keyStart = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d03010703420004", "hex");

/** Returns the request as PEM. The key must be one of P-256. */
export function createCertificateRequest(
  { organization, commonName, names }: RequestedCertificate,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
): string {
  const subject = sequence(
    nameAttribute(oids.organization, organization),
    nameAttribute(oids.commonName, commonName),
  );
  const extensions = sequence(extension(oids.subjectAltName, alternativeNames(names)));
  const attributes = names.length === 0
    ? Buffer.alloc(0)
    : sequence(oid(oids.extensionRequest), tagged(tags.set, extensions));
  const content = sequence(
    tagged(tags.integer, Buffer.from([0])),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa0, attributes),
  );
  return toPEM(label, sequence(content, algorithm, bits(sign("sha256", content, privateKey))));
}

/** The value of the extension with a certificate's names. */
export function alternativeNames(names: string[]): Buffer {
  return sequence(
    ...names.map((name) => isIP(name) ? tagged(0x87, addressBytes(name)) : tagged(0x82, Buffer.from(name))),
  );
}

/** Returns `sha256:HEX` of a public key. */
export function keyDigest(publicKey: KeyObject): string {
  return digestOf(publicKey.export({ type: "spki", format: "der" }));
}

/** Throws an error that says what is wrong. */
export function parseCertificateRequest(pem: string): ParsedRequest {
  const [content, given, signature, ...others] = readAll(
    readOne(bytesOf(pem), tags.sequence, "the request"),
    "the request",
  );
  const parts = readAll(expectTag(content, tags.sequence, "the request"), "the request");
  const [version, subject, key, attributes] = parts;
  if (parts.length !== 4 || others.length > 0 || version?.whole.toString("hex") !== "020100") {
    throw new Error("the request is not one of version 1");
  }
  const names = readAttributes(expectTag(attributes, 0xa0, "the attributes"));
  checkKey(key!.whole);
  if (!given?.whole.equals(algorithm)) throw new Error("the request is not signed with ECDSA and SHA-256");
  const signed = expectTag(signature, tags.bits, "the signature");
  const publicKey = createPublicKey({ key: key!.whole, format: "der", type: "spki" });
  if (signed[0] !== 0 || !verify("sha256", content!.whole, publicKey, signed.subarray(1))) {
    throw new Error("the signature of the request is wrong");
  }
  return {
    ...readSubject(expectTag(subject, tags.sequence, "the subject")),
    names,
    key: digestOf(key!.whole),
  };
}

function bytesOf(pem: string): Buffer {
  if (pem.length > longest) throw new Error(`the request has ${pem.length} bytes, more than ${longest}`);
  const [, body] =
    /^-----BEGIN CERTIFICATE REQUEST-----\n([A-Za-z0-9+/=\n]+)\n-----END CERTIFICATE REQUEST-----\n?$/
      .exec(pem) ?? [];
  const text = body?.replaceAll("\n", "") ?? "";
  const bytes = Buffer.from(text, "base64");
  if (text === "" || bytes.toString("base64") !== text) {
    throw new Error(`the request is not one block of PEM with the label ${label}`);
  }
  return bytes;
}

function checkKey(key: Buffer): void {
  const isExpected = key.length === keyStart.length + 64 && key.subarray(0, keyStart.length).equals(keyStart);
  if (!isExpected) throw new Error("the key of the request is not an ECDSA key of P-256");
}

function readSubject(bytes: Buffer): Pick<RequestedCertificate, "organization" | "commonName"> {
  const found = new Map<string, string>();
  for (const part of readAll(bytes, "the subject")) {
    const pair = readOne(expectTag(part, tags.set, "the subject"), tags.sequence, "the subject");
    const [id, value, ...others] = readAll(pair, "the subject");
    const name = expectTag(id, tags.oid, "the subject").toString("hex");
    const isText = value?.tag === tags.text || value?.tag === tags.printable;
    if (!isText || others.length > 0 || found.has(name)) {
      throw new Error("the subject is more than one O and one CN");
    }
    found.set(name, printable(value, "the subject"));
  }
  const [organization, commonName] = [found.get(oids.organization), found.get(oids.commonName)];
  if (found.size !== 2 || organization === undefined || commonName === undefined) {
    throw new Error("the subject is not one O and one CN");
  }
  return { organization, commonName };
}

function readAttributes(bytes: Buffer): string[] {
  const [attribute, ...others] = readAll(bytes, "the attributes");
  if (!attribute) return [];
  const [id, values, ...rest] = readAll(
    expectTag(attribute, tags.sequence, "the attributes"),
    "the attributes",
  );
  const isExtensions = expectTag(id, tags.oid, "the attributes").toString("hex") === oids.extensionRequest;
  if (!isExtensions || others.length + rest.length > 0) {
    throw new Error("the request has other attributes than extensions");
  }
  const extensions = readOne(expectTag(values, tags.set, "the extensions"), tags.sequence, "the extensions");
  const [one, ...more] = readAll(extensions, "the extensions");
  const parts = readAll(expectTag(one, tags.sequence, "the extensions"), "the extensions");
  const name = expectTag(parts[0], tags.oid, "the extensions").toString("hex");
  if (name !== oids.subjectAltName || more.length > 0 || parts.length !== 2) {
    throw new Error("the request has other extensions than alternative names");
  }
  const value = readOne(
    expectTag(parts[1], tags.bytes, "the extensions"),
    tags.sequence,
    "the alternative names",
  );
  const names = readAll(value, "the alternative names").map(readName);
  if (names.length > mostNames) throw new Error(`the request has more than ${mostNames} alternative names`);
  return names;
}

function readName(element: Element): string {
  if (element.tag === 0x82) {
    const name = printable(element, "an alternative name");
    if (!isHostName(name)) {
      throw new Error(`the alternative name ${JSON.stringify(name)} is no plain host name`);
    }
    return name;
  }
  if (element.tag !== 0x87) throw new Error("an alternative name is neither a DNS name nor an address");
  const { content } = element;
  if (content.length === 4) return content.join(".");
  const hex = content.toString("hex");
  // Go takes an IPv4 address within IPv6 for the IPv4 address.
  if (content.length !== 16 || hex.startsWith("00000000000000000000ffff")) {
    throw new Error("an alternative name is not an address of IPv4 or IPv6");
  }
  return canonicalAddress(hex.match(/.{4}/g)!.join(":"));
}

/** Returns the one form of a host name or an address that can be compared: clients ignore case, and a dot at the end. */
export function canonicalAddress(address: string): string {
  if (isIP(address) === 6) return new URL(`http://[${address}]/`).hostname.slice(1, -1);
  return address.toLowerCase().replace(/\.$/, "");
}

/** Reports whether a name has one reading only: lower case, no wildcard, and nothing that some client takes for an address (7, 0x7f.1). */
export function isHostName(name: string): boolean {
  const labels = name.split(".");
  return name.length <= 253 &&
    labels.every((label) => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(label)) &&
    !/^(?:\d+|0x[\da-f]*)$/.test(labels.at(-1)!);
}

function printable({ content }: Element, what: string): string {
  const text = content.toString("latin1");
  if (!/^[\x21-\x7e]{1,253}$/.test(text)) throw new Error(`${what} has other characters than letters`);
  return text;
}

function digestOf(key: Uint8Array): string {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
