import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../../../src/lib/log.ts";
import { createClientAuthority } from "../../../src/server/listen/client-authority.ts";
import { createSelfSigned } from "../../../src/server/listen/self-signed.ts";
import { ca } from "../../kube/access/certificates.ts";
import { json, refuse, withClient } from "../../kube/fake-server.ts";
import { tempFolder } from "../../temp-folder.ts";

const other = createSelfSigned("other", ["other"], Date.now()).cert;

test("the authority that the API server publishes counts, is read again after minutes, and outlives failures", async () => {
  let [published, now]: [string | undefined, number] = [undefined, 0];
  await withClient((request, response) => {
    assert.equal(
      request.path,
      "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
    );
    if (published === undefined) return refuse(response, 403, "Forbidden", "no");
    json(response, {
      data: {
        "client-ca-file": published,
        "requestheader-client-ca-file": other,
        "requestheader-allowed-names": "[]",
      },
    });
  }, async (client, { requests }) => {
    const read = createClientAuthority({ client, log: silentLogger, now: () => now });
    assert.equal(await read(), undefined);
    published = ca;
    assert.equal(await read(), undefined, "not asked again at once");
    now = 31_000;
    assert.equal(await read(), ca);
    const asked = requests.length;
    published = other;
    now += 100_000;
    assert.equal(await read(), ca);
    assert.equal(requests.length, asked);
    now += 100_000;
    assert.equal(await read(), other);
    for (const broken of [undefined, "", "not PEM", ca.replace("MII", "AAA")]) {
      published = broken;
      now += 200_000;
      assert.equal(await read(), other, `after ${broken?.slice(0, 10)}`);
    }
  });
});

test("a file that is named counts alone, and its changes at once", async () => {
  using temp = tempFolder();
  const file = join(temp.path, "ca.crt");
  await withClient(() => assert.fail("the API server is not asked"), async (client) => {
    const read = createClientAuthority({ client, file, log: silentLogger });
    assert.equal(await read(), undefined);
    await writeFile(file, ca);
    assert.equal(await read(), ca);
    await writeFile(file, other);
    assert.equal(await read(), other);
    await writeFile(file, "half a certif");
    assert.equal(await read(), other);
  });
});
