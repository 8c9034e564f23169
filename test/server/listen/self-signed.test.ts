import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createSelfSigned, readSelfSigned } from "../../../src/server/listen/self-signed.ts";
import { tempFolder } from "../../temp-folder.ts";

const now = Date.parse("2026-11-17T07:00:00Z");
const dayMs = 86_400_000;
const names = ["node-a", "192.0.2.7", "fd00::7", "2001:db8:1:2:3:4:5:6"];

test("openssl and Node read the certificate as it was meant, and it verifies itself", () => {
  const { cert } = createSelfSigned("node-a", names, now);
  const certificate = new X509Certificate(cert);
  assert.equal(certificate.subject, "CN=nckubelet:node-a");
  assert.ok(certificate.verify(certificate.publicKey));
  assert.equal(certificate.ca, false);
  for (const name of names.slice(1)) assert.equal(certificate.checkIP(name), name);
  assert.equal(certificate.checkHost("node-a"), "node-a");
  const text = execFileSync("openssl", ["x509", "-noout", "-text"], { input: cert, encoding: "utf8" });
  for (
    const part of [
      "Version: 3 (0x2)",
      "Signature Algorithm: ecdsa-with-SHA256",
      "Not Before: Nov 17 06:59:00 2026 GMT",
      "Not After : Nov 17 07:00:00 2027 GMT",
      "CA:FALSE",
      "Digital Signature",
      "TLS Web Server Authentication",
      "DNS:node-a, IP Address:192.0.2.7, IP Address:FD00:0:0:0:0:0:0:7, IP Address:2001:DB8:1:2:3:4:5:6",
    ]
  ) assert.ok(text.includes(part), `${part} in ${text}`);
});

test("dates after 2049 are written as RFC 5280 wants them", () => {
  const { cert } = createSelfSigned("node-a", names, Date.parse("2049-12-31T00:00:00Z"));
  assert.equal(new X509Certificate(cert).validTo, "Dec 31 00:00:00 2050 GMT");
});

test("the pair is kept in private, and made again for new names and before it expires", async () => {
  using temp = tempFolder();
  const read = (at: number, all = names) =>
    readSelfSigned({ folder: temp.path, node: "node-a", names: all, now: () => at });
  const first = await read(now);
  assert.equal((await stat(join(temp.path, "kubelet.key"))).mode & 0o777, 0o600);
  assert.deepEqual(await read(now + 300 * dayMs), first);
  const renewed = await read(now + 336 * dayMs);
  assert.notEqual(renewed.cert, first.cert);
  assert.notEqual((await read(now + 336 * dayMs, [...names, "192.0.2.8"])).cert, renewed.cert);
});

test("a damaged pair, and a key of another certificate, are replaced", async () => {
  using temp = tempFolder();
  const read = () => readSelfSigned({ folder: temp.path, node: "node-a", names, now: () => now });
  const first = await read();
  await writeFile(join(temp.path, "kubelet.crt"), "garbage");
  const second = await read();
  assert.notEqual(second.cert, first.cert);
  await writeFile(join(temp.path, "kubelet.key"), createSelfSigned("x", names, now).key);
  assert.notEqual((await read()).cert, second.cert);
});
