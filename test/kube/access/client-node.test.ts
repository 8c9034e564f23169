/**
 * What client-node gets wrong, each the reason for code of ours in src/kube/access. A test that fails after an update of client-node
 * says which code can go.
 */
import assert from "node:assert/strict";
import type { RequestOptions } from "node:https";
import { test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { alice, bob, ca } from "./certificates.ts";
import { base64, execUser, jwt, kubeconfig, printed, withFiles } from "./kubeconfigs.ts";
import { withIssuer } from "./oidc-issuer.ts";

function load(text: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(text);
  return config;
}

/** What client-node would send for a user. */
async function apply(user: string, cluster?: string) {
  const options: RequestOptions = {};
  await load(kubeconfig(user, cluster)).applyToHTTPSOptions(options);
  return { ...options, headers: { ...options.headers } as Record<string, string> };
}

test("client-node rejects names that occur in two files, and takes the context of the last (kubeconfig-files.ts)", () => {
  const named = (name: string) => load(`current-context: ${name}\nusers: [{name: ${name}, user: {}}]`);
  const config = named("one");
  config.mergeConfig(named("two"));
  assert.equal(config.currentContext, "two", "kubectl takes the first");
  assert.throws(() => config.mergeConfig(named("one")), /Duplicate user/);
});

test("client-node's YAML errors quote the lines around the error (kubeconfig-files.ts)", () => {
  assert.throws(() => load("users: [token: s3cret"), /s3cret/);
});

test("client-node prefers files to inline data (kubeconfig-files.ts)", async () => {
  await withFiles({ "b.crt": bob.cert, "b.key": bob.key }, async (at) => {
    const data = `client-certificate-data: ${base64(alice.cert)}, client-key-data: ${base64(alice.key)}`;
    const { cert } = await apply(`client-certificate: ${at("b.crt")}, client-key: ${at("b.key")}, ${data}`);
    assert.equal(String(cert), bob.cert, "kubectl takes the data");
  });
});

test("client-node ignores tokenFile, and keeps the line break of a token in a file (auth-method.ts)", async () => {
  await withFiles({ token: "abc\n" }, async (at) => {
    assert.deepEqual((await apply(`tokenFile: ${at("token")}`)).headers, {});
    const provider = `auth-provider: {name: tokenFile, config: {tokenFile: ${at("token")}}}`;
    assert.equal((await apply(provider)).headers.Authorization, "Bearer abc\n");
  });
});

test("client-node runs a plugin although there is a token, and ignores unknown providers (auth-method.ts)", async () => {
  await assert.rejects(apply("token: abc, exec: {command: /no/such/plugin}"), /ENOENT/);
  assert.deepEqual((await apply("auth-provider: {name: ldap}")).headers, {});
});

test("client-node takes http:// for an error without insecure-skip-tls-verify (apply-config.ts)", async () => {
  await assert.rejects(
    apply("token: abc", 'server: "http://127.0.0.1:8001"'),
    /HTTP protocol is not allowed/,
  );
});

test("client-node accepts a key of another certificate, and text that is no PEM (apply-config.ts)", async () => {
  const data = `client-certificate-data: ${base64("no PEM")}, client-key-data: ${base64(bob.key)}`;
  assert.equal(String((await apply(data)).cert), "no PEM");
});

test("client-node sends no more of an impersonation than the user (impersonation.ts)", async () => {
  const { headers } = await apply('as: jane, as-uid: "7", as-groups: [dev], as-user-extra: {scope: [a]}');
  assert.deepEqual(headers, { "Impersonate-User": "jane" });
});

test("client-node tells a plugin nothing, waits for its input, and shows no expiry (exec-credential.ts)", async () => {
  const status = printed({ token: "$info-$input", expirationTimestamp: "2100-01-01T00:00:00Z" });
  // A closed input ends `read` at once; an open one only when the time is over.
  const wait = "input=closed; timeout 0.2 sh -c 'read line'; [ $? = 124 ] && input=open";
  const plugin = `#!/bin/sh\ninfo=\${KUBERNETES_EXEC_INFO:-none}; ${wait}\necho ${JSON.stringify(status)}`;
  await withFiles({ plugin }, async (at) => {
    const { agent: _, ...options } = await apply(execUser().replace("./plugin", at("plugin")));
    assert.equal(options.headers.Authorization, "Bearer none-open");
    assert.doesNotMatch(JSON.stringify(options), /2100/);
  });
});

test("client-node's error quotes what a plugin printed (exec-credential.ts)", async () => {
  await assert.rejects(apply("exec: {command: echo, args: [s3cret]}"), /s3cret/);
});

test("client-node cannot refresh an id token, and sends none where there is none (oidc.ts)", async () => {
  await withIssuer({}, async ({ url, refreshes }) => {
    const settings = { "idp-issuer-url": url, "client-id": "edge", "refresh-token": "refresh-0" };
    const withCA = { ...settings, "idp-certificate-authority-data": base64(ca) };
    const provider = (config: object) => `auth-provider: {name: oidc, config: ${JSON.stringify(config)}}`;
    await assert.rejects(
      apply(provider({ ...withCA, "id-token": jwt({ exp: 1 }) })),
      /"server" must be an instance of URL/,
    );
    assert.deepEqual((await apply(provider(withCA))).headers, {});
    assert.deepEqual(refreshes, []);
  });
});
