import assert from "node:assert/strict";
import { chmod, readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { load } from "js-yaml";
import { resolveKubeconfig } from "../../../src/kube/access/resolve-kubeconfig.ts";
import { ca } from "./certificates.ts";
import { base64, jwt, kubeconfig, withFiles } from "./kubeconfigs.ts";
import { type Issuer, type IssuerOptions, withIssuer } from "./oidc-issuer.ts";

type Settings = Record<string, string | undefined>;

/** Runs `use` with an issuer and a kubeconfig for it; `settings` are those of its auth-provider. */
async function withOidc(
  options: IssuerOptions,
  settings: (issuer: Issuer) => Settings,
  use: (
    resolve: (rejected?: boolean) => Promise<{ token: string; expiresAt?: number; warning?: string }>,
    scene: {
      issuer: Issuer;
      path: string;
    },
  ) => Promise<void>,
): Promise<void> {
  await withIssuer(options, async (issuer) => {
    const config = {
      "idp-issuer-url": issuer.url,
      "client-id": "edge",
      "idp-certificate-authority": "ca.crt",
      "refresh-token": "refresh-0",
      ...settings(issuer),
    };
    const user = `auth-provider: {name: oidc, config: ${JSON.stringify(config)}}`;
    await withFiles({ config: kubeconfig(user), "ca.crt": ca }, async (at) => {
      const resolve = async (rejected = false) => {
        const { target, credentials } = await resolveKubeconfig({ kubeconfig: at("config"), rejected });
        assert.equal(target.kind, `OIDC issuer ${issuer.url}`);
        const { headers, expiresAt, warning } = await credentials;
        return { token: String(headers.authorization).replace("Bearer ", ""), expiresAt, warning };
      };
      await use(resolve, { issuer, path: at("config") });
    });
  });
}

test("OIDC: a good id token is used as it is, with its expiry", async () => {
  await withOidc({}, (issuer) => ({ "id-token": issuer.idToken(600) }), async (resolve, { issuer }) => {
    const { token, expiresAt = 0 } = await resolve();
    assert.equal(JSON.parse(atob(token.split(".")[1]!)).exp * 1000, expiresAt);
    assert.deepEqual(issuer.refreshes, []);
  });
});

const stale: [string, (issuer: Issuer) => Settings][] = [
  ["has expired", (issuer) => ({ "id-token": issuer.idToken(-10) })],
  ["ends soon", (issuer) => ({ "id-token": issuer.idToken(50) })],
  ["is missing", () => ({})],
];

for (const [what, settings] of stale) {
  test(`OIDC: an id token that ${what} is refreshed`, async () => {
    await withOidc({}, settings, async (resolve, { issuer }) => {
      const { token, expiresAt = 0 } = await resolve();
      assert.ok(expiresAt > Date.now() + 3_000_000);
      assert.equal(token.split(".").length, 3);
      const [{ grant_type, refresh_token, client_id } = {}] = issuer.refreshes;
      assert.deepEqual([grant_type, refresh_token, client_id], ["refresh_token", "refresh-0", "edge"]);
    });
  });
}

test("OIDC: a rejected id token is refreshed, and saved for the next time like kubectl does", async () => {
  await withOidc(
    { rotates: true },
    (issuer) => ({ "id-token": issuer.idToken(600) }),
    async (resolve, scene) => {
      await chmod(scene.path, 0o640);
      const old = await resolve();
      const { token } = await resolve(true);
      assert.notEqual(token, old.token);
      assert.equal((await resolve()).token, token, "from the file");
      assert.equal((await stat(scene.path)).mode & 0o777, 0o640);
      // The issuer accepts each refresh token once.
      assert.notEqual((await resolve(true)).token, token);
      assert.deepEqual(scene.issuer.refreshes.map((form) => form.refresh_token), ["refresh-0", "refresh-1"]);
      const saved = load(await readFile(scene.path, "utf8")) as { contexts: unknown; users: unknown };
      assert.match(JSON.stringify(saved.users), /"refresh-token":"refresh-2"/);
      assert.deepEqual(saved.contexts, [{
        name: "c",
        context: { cluster: "k", user: "u", namespace: "shop" },
      }]);
    },
  );
});

for (
  const [method, field] of [["client_secret_post", "client_secret"], ["client_secret_basic", "authorization"]]
) {
  test(`OIDC: a client-secret is sent as ${method}, which the issuer supports`, async () => {
    const options = { secret: "s3cret", authMethods: [method!] };
    await withOidc(options, () => ({ "client-secret": "s3cret" }), async (resolve, { issuer }) => {
      assert.ok((await resolve()).token);
      assert.ok(issuer.refreshes[0]?.[field!]);
    });
  });
}

test("OIDC: the authority of the issuer may be inline", async () => {
  const inline = { "idp-certificate-authority": undefined, "idp-certificate-authority-data": base64(ca) };
  await withOidc({}, () => inline, async (resolve) => assert.ok((await resolve()).token));
});

const failures: [string, IssuerOptions, (issuer: Issuer) => Settings, RegExp][] = [
  [
    "a used refresh token",
    {},
    () => ({ "refresh-token": "s3cret" }),
    /cannot refresh the id token: invalid_grant: used before$/,
  ],
  [
    "a wrong client-secret",
    { secret: "other" },
    () => ({ "client-secret": "s3cret" }),
    /cannot refresh the id token: invalid_client$/,
  ],
  [
    "an issuer of another authority",
    {},
    () => ({ "idp-certificate-authority": undefined }),
    /cannot refresh the id token: .*certificate/,
  ],
  [
    "no refresh token",
    {},
    (issuer) => ({ "id-token": issuer.idToken(-5), "refresh-token": undefined }),
    /the id-token has expired or was rejected, and there is no refresh-token: log in again/,
  ],
  [
    "no tokens at all",
    {},
    () => ({ "refresh-token": undefined }),
    /there is no id-token, and there is no refresh-token/,
  ],
  ["no client-id", {}, () => ({ "client-id": undefined }), /there is no client-id/],
];

for (const [what, options, settings, expected] of failures) {
  test(`OIDC: ${what} is an error with the issuer, without a secret`, async () => {
    await withOidc(options, settings, async (resolve, { issuer }) => {
      await assert.rejects(resolve(), (error: Error) => {
        assert.match(error.message, expected);
        assert.ok(error.message.includes(issuer.url));
        assert.doesNotMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), /s3cret|refresh-0/);
        return true;
      });
    });
  });
}

test("OIDC: a token without an expiry is used until it is rejected", async () => {
  await withOidc({}, () => ({ "id-token": jwt({ sub: "jane" }) }), async (resolve, { issuer }) => {
    assert.equal((await resolve()).expiresAt, undefined);
    assert.deepEqual(issuer.refreshes, []);
  });
});
