import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { certificateExpiry, tokenExpiry } from "../../../src/kube/access/expiry.ts";
import { ca, server } from "./certificates.ts";

test("certificateExpiry() returns the end of the certificate that expires first, and nothing for other text", () => {
  const ends = [ca, server.cert].map((cert) => Date.parse(new X509Certificate(cert).validTo));
  assert.equal(certificateExpiry(`${ca}${server.cert}`), Math.min(...ends));
  const broken = "-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----";
  assert.equal(certificateExpiry(`# comment\n${server.cert}${broken}`), ends[1]);
  assert.equal(certificateExpiry("not a certificate"), undefined);
});

test("tokenExpiry() returns the time in a JSON Web Token, and nothing for an opaque one", () => {
  const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
  assert.equal(tokenExpiry(token({ exp: 1000 })), 1_000_000);
  for (const text of [token({}), token({ exp: "soon" }), "opaque", ""]) {
    assert.equal(tokenExpiry(text), undefined);
  }
});
