import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { shownNames } from "../../src/identities/server-names.ts";
import { ca, server as pair } from "../kube/access/certificates.ts";
import { json, withServer } from "../kube/fake-server.ts";

const accessTo = (url: string, authority: string | undefined = ca) => ({
  server: new URL(url),
  credentials: async () => ({ headers: {}, tls: { rejectUnauthorized: true, ca: authority } }),
});

test("no node gets a certificate for a name in that of the API server, such as that of its load balancer", async () => {
  await withServer((_, response) => json(response, {}), async ({ url }) => {
    const names = await shownNames(accessTo(url));
    const certificate = new X509Certificate(pair.cert);
    assert.ok(names.length > 0 && certificate.subjectAltName);
    for (const name of names) assert.ok(certificate.subjectAltName.includes(name), name);
    assert.ok(names.includes("127.0.0.1"));
    await assert.rejects(shownNames(accessTo(url, pair.cert)), /certificate/i);
  }, { tls: true });
  assert.deepEqual(await shownNames(accessTo("http://127.0.0.1:1")), []);
  await assert.rejects(shownNames(accessTo("https://127.0.0.1:1")), /ECONNREFUSED/);
});
