import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveKubeconfig } from "../../../src/kube/access/resolve-kubeconfig.ts";
import { alice, bob, ca } from "./certificates.ts";
import { base64, execUser, kubeconfig, printed, withFiles } from "./kubeconfigs.ts";

const env = { PATH: "/usr/bin:/bin" };

/** Resolves the kubeconfig `text` in a folder with other files. */
async function resolve(text: string, files: Record<string, string> = {}, context?: string) {
  let result: { credentials: object; target: object } | undefined;
  await withFiles({ config: text, ...files }, async (at) => {
    const { target, credentials } = await resolveKubeconfig({ kubeconfig: at("config"), context, env });
    const folder = at("x").slice(0, -1);
    const { files: stamps, ...rest } = target;
    const shown = {
      ...rest,
      context: rest.context.replaceAll(folder, ""),
      kind: rest.kind.replaceAll(folder, ""),
    };
    const watched = stamps.map(({ path }) => path.replace(folder, ""));
    result = { target: { ...shown, watched }, credentials: await credentials };
  });
  return result!;
}

const strict = { rejectUnauthorized: true };
const pems = {
  "a.crt": alice.cert,
  "a.key": alice.key,
  "b.key": bob.key,
  "ca.crt": ca,
  token: "\nfrom-file\n",
};
const inline = `client-certificate-data: ${base64(alice.cert)}, client-key-data: ${base64(alice.key)}`;

const bearer = { authorization: "Bearer abc" };
const basic = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` });
const pair = { ...alice, ...strict };

/** What is sent for a user: its entry, then kind, headers, TLS, and the files that are watched. */
const users: [what: string, user: string, kind: string, headers?: object, tls?: object, files?: string[]][] =
  [
    ["nothing", "", "anonymous"],
    ["a token", "token: abc", "token", bearer],
    ["basic auth", "username: me, password: pw", "basic auth", basic("me:pw")],
    ["a null password", "username: me, password: ~", "basic auth", basic("me:")],
    ["a token with spaces around it", 'token: " abc\\n"', "token", bearer],
    ["an empty password", "username: me", "basic auth", basic("me:")],
    [
      "a token file, which overrides a token",
      "tokenFile: token, token: abc",
      "token file token",
      { authorization: "Bearer from-file" },
      strict,
      ["token"],
    ],
    [
      "a certificate in files",
      "client-certificate: a.crt, client-key: a.key",
      "client certificate",
      {},
      pair,
      ["a.crt", "a.key"],
    ],
    [
      "an inline certificate, which overrides files",
      `${inline}, client-certificate: gone.crt, client-key: gone.key`,
      "client certificate",
      {},
      pair,
    ],
    ["a certificate and a token", `${inline}, token: abc`, "client certificate and token", bearer, pair],
    [
      "impersonation",
      'token: abc, as: jane, as-uid: "7", as-groups: [dev, ops], as-user-extra: {"example.com/Scope ü": [a, b]}',
      "token, as jane",
      {
        ...bearer,
        "impersonate-user": "jane",
        "impersonate-uid": "7",
        "impersonate-group": ["dev", "ops"],
        "impersonate-extra-example.com%2FScope%20%C3%BC": ["a", "b"],
      },
    ],
    [
      "a provider's stored token",
      'auth-provider: {name: gcp, config: {access-token: abc, expiry: "2100-01-01T00:00:00Z"}}',
      "auth-provider gcp",
      bearer,
    ],
  ];

for (const [what, user, kind, headers = {}, tls = strict, watched = []] of users) {
  test(`resolveKubeconfig() uses ${what}`, async () => {
    const { target, credentials } = await resolve(kubeconfig(user), pems);
    const got = JSON.parse(JSON.stringify({ headers: {}, ...credentials }));
    assert.deepEqual({ headers: got.headers, tls: got.tls }, { headers, tls });
    const server = "https://k8s.test:6443";
    const context = 'context "c" of config';
    const expected = { context, kind, server, namespace: "shop", watched: ["config", ...watched] };
    assert.deepEqual(JSON.parse(JSON.stringify(target)), expected);
  });
}

test("resolveKubeconfig() uses authority, server name, proxy and the insecure flag of the cluster", async () => {
  const cluster =
    'server: "http://k8s.test:8001/base", certificate-authority: ca.crt, tls-server-name: kube.test, ' +
    'insecure-skip-tls-verify: true, proxy-url: "socks5://p.test:1"';
  const { target, credentials } = await resolve(kubeconfig("", cluster), pems);
  assert.deepEqual({ ...credentials, expiresAt: 0 }, {
    headers: {},
    tls: { ca, servername: "kube.test", rejectUnauthorized: false },
    expiresAt: 0,
    saved: undefined,
    warning: undefined,
  });
  const { server, proxyUrl, watched } = target as Record<string, unknown>;
  assert.deepEqual([server, proxyUrl, watched], [
    "http://k8s.test:8001/base",
    "socks5://p.test:1",
    ["config", "ca.crt"],
  ]);
});

test("resolveKubeconfig() accepts http://, and prefers an inline authority to a file", async () => {
  const authority = `certificate-authority-data: ${base64(ca)}, certificate-authority: gone`;
  const { target, credentials } = await resolve(
    kubeconfig("token: abc", `server: "http://127.0.0.1:8001", ${authority}`),
  );
  assert.equal((target as { server: string }).server, "http://127.0.0.1:8001");
  assert.equal((credentials as { tls: { ca: string } }).tls.ca, ca);
});

test("resolveKubeconfig() runs a plugin with its arguments and environment, and the cluster if it asks", async () => {
  const script = `#!/bin/sh
read line && exit 9
info=$(printf %s "$KUBERNETES_EXEC_INFO" | base64 -w0)
echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"status\\":{\\"token\\":\\"$1.$ROLE.$info\\",\\"expirationTimestamp\\":\\"2100-01-01T00:00:00Z\\"}}"`;
  const cluster = 'server: "https://k8s.test", certificate-authority: ca.crt, ' +
    "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]";
  const user = execUser(", args: [1], env: [{name: ROLE, value: edge}], provideClusterInfo: true");
  const { target, credentials } = await resolve(kubeconfig(user, cluster), { plugin: script, ...pems });
  assert.equal((target as { kind: string }).kind, "exec plugin plugin");
  const { headers, expiresAt } = credentials as { headers: { authorization: string }; expiresAt: number };
  assert.equal(expiresAt, Date.parse("2100-01-01T00:00:00Z"));
  const [first, role, info = ""] = headers.authorization.split(".");
  assert.deepEqual([first, role], ["Bearer 1", "edge"]);
  assert.deepEqual(JSON.parse(atob(info)), {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: {
      interactive: false,
      cluster: {
        server: "https://k8s.test",
        "certificate-authority-data": base64(ca),
        config: { audience: "x" },
      },
    },
  });
});

test("resolveKubeconfig() uses a plugin's client certificate", async () => {
  const status = printed({ clientCertificateData: alice.cert, clientKeyData: alice.key });
  const { credentials } = await resolve(kubeconfig(execUser()), {
    plugin: `#!/bin/sh\ncat <<'END'\n${status}\nEND`,
  });
  assert.deepEqual(JSON.parse(JSON.stringify((credentials as { tls: object }).tls)), { ...alice, ...strict });
});

test("resolveKubeconfig() merges files like kubectl: the first to name an entry or a context wins", async () => {
  const first = "current-context: one\ncontexts: [{name: one, context: {cluster: k, user: u}}]\n" +
    "users: [{name: u, user: {token: first-token, client-certificate: my.crt, client-key: my.key}}]";
  const second = kubeconfig("token: ignored", 'server: "https://second", certificate-authority: ca.crt');
  await withFiles({ first, "my.crt": alice.cert, "my.key": alice.key }, async (at) => {
    await withFiles({ second, "ca.crt": ca }, async (other) => {
      const list = [at("missing"), at("first"), other("second")];
      const { target, credentials } = await resolveKubeconfig({ kubeconfig: `${list.join(":")}:` });
      assert.deepEqual([target.server, target.context], [
        "https://second",
        `context "one" of ${at("first")}`,
      ]);
      // Relative paths are relative to the file that has them.
      const { headers, tls } = await credentials;
      assert.deepEqual([headers, tls.ca], [{ authorization: "Bearer first-token" }, ca]);
      assert.deepEqual([tls.cert, tls.key], [alice.cert, alice.key]);
      const read = [...list, other("ca.crt"), at("my.crt"), at("my.key")];
      assert.deepEqual(target.files.map(({ path }) => path), read);
      assert.equal(target.files[0]?.stamp, "", "a missing file may appear later");
    });
  });
});

test("resolveKubeconfig() uses the requested context, and ignores what it does not use", async () => {
  const text = kubeconfig("token: abc").replace(
    "contexts: [",
    "contexts: [{name: broken}, {name: other, context: {cluster: elsewhere}}, ",
  ).replace("clusters: [", 'clusters: [{name: bad}, {name: elsewhere, cluster: {server: "https://other"}}, ');
  const { target, credentials } = await resolve(text, {}, "other");
  assert.equal((target as { server: string }).server, "https://other");
  assert.deepEqual((credentials as { headers: object }).headers, {});
});

/** Faults of the kubeconfig itself. */
const faults: [string, string, RegExp][] = [
  ["broken YAML", "users: [token: s3cret", /config: not valid YAML at line \d/],
  ["something else", "hello", /not a kubeconfig/],
  ["no context", "clusters: []", /no current-context/],
  ["an unknown context", "current-context: gone", /contexts has none named "gone"/],
  ["a current-context that is no text", "current-context: 7", /current-context must be a string/],
  [
    "a context without a cluster",
    "current-context: c\ncontexts: [{name: c}]",
    /context "c" names no cluster/,
  ],
  [
    "an unknown cluster",
    "current-context: c\ncontexts: [{name: c, context: {cluster: gone}}]",
    /clusters has none named "gone"/,
  ],
  ["a cluster without a server", kubeconfig("", ""), /cluster "k" has no server/],
  ["a server that is a number", kubeconfig("", "server: 1"), /cluster "k": server must be a string/],
  [
    "a bad proxy",
    kubeconfig("", 'server: "https://k", proxy-url: "ftp://x"'),
    /cluster "k": proxy-url: cannot use/,
  ],
  ["a certificate without a key", kubeconfig("client-certificate: a.crt"), /no client-key/],
  ["a key without a certificate", kubeconfig("client-key: a.key"), /no client-certificate/],
  [
    "a token that YAML takes for a number",
    kubeconfig("token: 123456"),
    /token must be a string \(put it in quotes\)/,
  ],
  [
    "an unknown provider",
    kubeconfig("auth-provider: {name: ldap}"),
    /user "u": auth-provider "ldap" is not supported/,
  ],
  ["groups without a user", kubeconfig("as-groups: [dev]"), /need the user in "as"/],
  [
    "groups that are no list",
    kubeconfig("as: me, as-groups: dev"),
    /user "u": as-groups must be a list of strings/,
  ],
  ["an issuer without an address", kubeconfig("auth-provider: {name: oidc}"), /idp-issuer-url must be/],
  [
    "a plugin that needs a person",
    kubeconfig(execUser(", interactiveMode: Always")),
    /interactiveMode Always/,
  ],
  ["a plugin without a command", kubeconfig("exec: {args: [x]}"), /exec has no command/],
  [
    "a plugin of a removed version",
    kubeconfig("exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"),
    /v1alpha1" is not supported/,
  ],
];

for (const [what, text, expected] of faults) {
  test(`resolveKubeconfig() refuses ${what} and names the file, without a secret`, async () => {
    await withFiles({ config: text }, async (at) => {
      await assert.rejects(resolveKubeconfig({ kubeconfig: at("config") }), (error: Error) => {
        assert.match(error.message, expected);
        assert.ok(error.message.startsWith(at("config")), error.message);
        assert.doesNotMatch(error.message, /s3cret|123456/);
        return true;
      });
    });
  });
}

test("resolveKubeconfig() names a file that it cannot read", async () => {
  await assert.rejects(
    resolveKubeconfig({ kubeconfig: "/nowhere" }),
    /cannot read kubeconfig \/nowhere: no such file$/,
  );
  const list = "/nowhere/a:/nowhere/b";
  await assert.rejects(
    resolveKubeconfig({ kubeconfig: list }),
    /\/nowhere\/a:\/nowhere\/b: none of the files exists/,
  );
});

/** Faults of the credential: the server is known all the same. */
const troubles: [string, string, RegExp][] = [
  ["a token file that is missing", "tokenFile: gone", /cannot read token file .*gone: .*ENOENT/],
  ["an empty token file", "tokenFile: empty", /cannot read token file .*empty: it is empty/],
  [
    "a certificate that is missing",
    "client-certificate: x, client-key: y",
    /cannot read client certificate .*x: /,
  ],
  [
    "data that is not PEM",
    `${inline.replace(/data: \S+/, "data: czNjcmV0,")}`,
    /client-certificate-data is not base64/,
  ],
  [
    "a key of another certificate",
    "client-certificate: a.crt, client-key: b.key",
    /client certificate .*a\.crt: its key belongs to another certificate/,
  ],
  ["a plugin that fails", execUser(), /exec plugin .*plugin: exit code 3: please log in$/],
  [
    "a plugin that is not installed",
    execUser().replace("./plugin", "no-such, installHint: apt install it"),
    /no-such: not found. apt install it/,
  ],
  [
    "a provider whose token has expired",
    'auth-provider: {name: azure, config: {access-token: s3cret, expiry: "2000-01-01T00:00:00Z"}}',
    /user "u": auth-provider: Token is expired/,
  ],
  [
    "a provider's command that prints rubbish",
    "auth-provider: {name: gcp, config: {cmd-path: echo, cmd-args: s3cret}}",
    /user "u": auth-provider: its command printed no JSON/,
  ],
];

for (const [what, user, expected] of troubles) {
  test(`resolveKubeconfig() knows the server and reports ${what}, without a secret`, async () => {
    const plugin = "#!/bin/sh\necho s3cret; echo 'please log in' >&2; exit 3";
    await withFiles({ config: kubeconfig(user), plugin, empty: "", ...pems }, async (at) => {
      const { target, credentials } = await resolveKubeconfig({ kubeconfig: at("config"), env });
      assert.equal(target.server, "https://k8s.test:6443");
      await assert.rejects(credentials, (error: Error) => {
        assert.match(error.message, expected);
        assert.doesNotMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), /s3cret/);
        return true;
      });
    });
  });
}
