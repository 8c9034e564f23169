import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  createCertificateRequest,
  isHostName,
  keyDigest,
  parseCertificateRequest,
  toPEM,
} from "../../../src/lib/x509/x509.ts";
import { runs } from "../../properties.ts";

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const wanted = {
  organization: "nckubelet:agents",
  commonName: "nckubelet:edge-7",
  names: ["edge-7", "10.0.0.7", "fd00::7"],
};

const openssl = (input: string, ...args: string[]) =>
  execFileSync("openssl", ["req", "-noout", ...args], {
    input,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "pipe"],
  });

test("openssl verifies a request and reads it as it was meant", () => {
  const text = openssl(createCertificateRequest(wanted, keys), "-verify", "-text");
  assert.match(text, /Subject: O ?= ?"?nckubelet:agents"?, CN ?= ?"?nckubelet:edge-7"?/);
  assert.match(text, /DNS:edge-7, IP Address:10\.0\.0\.7, IP Address:FD00:0:0:0:0:0:0:7/);
  const plain = openssl(createCertificateRequest({ ...wanted, names: [] }, keys), "-verify", "-text");
  assert.doesNotMatch(plain, /Alternative/);
});

test("what was made is read back, whatever its names", () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/).filter(isHostName);
  const name = fc.oneof(label, fc.ipV4(), fc.constant("fd00::1"));
  fc.assert(
    fc.property(label, label, fc.array(name, { maxLength: 20 }), (organization, commonName, names) => {
      const request = { organization, commonName, names };
      const pem = createCertificateRequest(request, keys);
      assert.deepEqual(parseCertificateRequest(pem), { ...request, key: keyDigest(keys.publicKey) });
    }),
    runs(100),
  );
});

test("a request with one changed byte is an error, not another request", () => {
  const pem = createCertificateRequest(wanted, keys);
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\n/g, ""), "base64");
  fc.assert(
    fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(der);
      changed[at]! ^= change;
      assert.throws(() => parseCertificateRequest(toPEM("CERTIFICATE REQUEST", changed)));
    }),
    runs(500),
  );
});

test("garbage is an error within bounds", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      assert.throws(() => parseCertificateRequest(toPEM("CERTIFICATE REQUEST", bytes)));
    }),
    runs(300),
  );
  const pem = createCertificateRequest(wanted, keys);
  for (const text of ["", `x\n${pem}`, pem + pem, pem.replaceAll("REQUEST", "REQUESTS"), "A".repeat(5000)]) {
    assert.throws(() => parseCertificateRequest(text));
  }
});

test("a name that others read as another name, or as an address, is refused", () => {
  for (
    const name of [
      "Kubernetes.Default.SVC",
      "*",
      "*.example.com",
      "edge-7.",
      ".edge-7",
      "edge..7",
      "edge_7",
      "-edge",
      "x".repeat(64),
      "7",
      "127.1",
      "0x7f.0x1",
      "010.0.0.1",
      "10.0.0.999",
    ]
  ) {
    const pem = createCertificateRequest({ ...wanted, names: [name] }, keys);
    assert.throws(() => parseCertificateRequest(pem), /is no plain host name/, name);
  }
  for (const name of ["edge-7", "edge-7.example.com", "0x.example.com", "7a", "1.2.3.example"]) {
    const pem = createCertificateRequest({ ...wanted, names: [name] }, keys);
    assert.deepEqual(parseCertificateRequest(pem).names, [name]);
  }
});

test("an IPv4 address within IPv6 is refused: other readers take it for the IPv4 address", () => {
  const pem = createCertificateRequest({ ...wanted, names: ["::ffff:10.0.0.7"] }, keys);
  assert.throws(() => parseCertificateRequest(pem), /not an address of IPv4 or IPv6/);
});
