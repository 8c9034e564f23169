import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { parseKubeconfig } from "../../../src/kube/access/kubeconfig.ts";
import { alice, ca } from "./certificates.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const path = "/etc/nckubelet/kubeconfig";

const config = (user: string, cluster = "server: https://k8s:6443") => `
apiVersion: v1
kind: Config
current-context: edge
contexts:
- {name: other, context: {cluster: elsewhere, user: nobody}}
- {name: edge, context: {cluster: main, user: agent, namespace: shop}}
clusters:
- name: elsewhere
  cluster: {server: "https://elsewhere"}
- name: main
  cluster: {${cluster}}
users:
- {name: nobody, user: {}}
- name: agent
  user: {${user}}
`;

test("parseKubeconfig() uses the current context", () => {
  const { context, namespace, cluster, user } = parseKubeconfig(config("token: abc"), path);
  assert.deepEqual({ context, namespace, server: cluster.server, token: user.token }, {
    context: "edge",
    namespace: "shop",
    server: "https://k8s:6443",
    token: "abc",
  });
});

test("parseKubeconfig() uses the requested context", () => {
  assert.equal(parseKubeconfig(config(""), path, "other").cluster.server, "https://elsewhere");
});

test("parseKubeconfig() decodes inline certificates", () => {
  const user = `client-certificate-data: ${base64(alice.cert)}, client-key-data: ${base64(alice.key)}`;
  const cluster = `server: "https://k", certificate-authority-data: ${base64(ca)}`;
  const choice = parseKubeconfig(config(user, cluster), path);
  assert.deepEqual(choice.user.certificate, { cert: { pem: alice.cert }, key: { pem: alice.key } });
  assert.deepEqual(choice.cluster.ca, { pem: ca });
});

test("parseKubeconfig() resolves relative paths from the folder of the file", () => {
  const user = "client-certificate: pki/a.crt, client-key: /keys/a.key, tokenFile: ../token";
  const choice = parseKubeconfig(config(user), path);
  assert.deepEqual(choice.user.certificate, {
    cert: { file: "/etc/nckubelet/pki/a.crt" },
    key: { file: "/keys/a.key" },
  });
  assert.equal(choice.user.tokenFile, "/etc/token");
});

test("parseKubeconfig() reads exec plugins, and resolves relative commands from the folder of the file", () => {
  const exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: [a, 1], " +
    "env: [{name: ROLE, value: edge}], installHint: get it, provideClusterInfo: true}";
  assert.deepEqual(parseKubeconfig(config(exec), path).user.exec, {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/etc/nckubelet/login",
    args: ["a", "1"],
    env: { ROLE: "edge" },
    installHint: "get it",
    provideClusterInfo: true,
  });
  const bare = parseKubeconfig(config("exec: {apiVersion: v1, command: aws}"), path);
  assert.equal(bare.user.exec?.command, "aws");
});

test("parseKubeconfig() reads the settings of TLS and proxies", () => {
  const cluster =
    'server: "https://k", tls-server-name: api.test, insecure-skip-tls-verify: true, proxy-url: "http://p:1"';
  const { tlsServerName, insecureSkipTlsVerify, proxyUrl } =
    parseKubeconfig(config("", cluster), path).cluster;
  assert.deepEqual([tlsServerName, insecureSkipTlsVerify, proxyUrl], ["api.test", true, "http://p:1"]);
});

const faults: [string, string, RegExp][] = [
  ["broken YAML", "users: [token: s3cret", /kubeconfig: not valid YAML at line \d/],
  ["something else", "hello", /not a kubeconfig/],
  ["no context", "clusters: []", /no current-context/],
  ["an unknown context", "current-context: gone", /contexts has none named "gone"/],
  ["a cluster without a server", config("", ""), /cluster "main" has no server/],
  ["a certificate without a key", config("client-certificate: a.crt"), /no client-key/],
  ["a key without a certificate", config("client-key: a.key"), /no client-certificate/],
  [
    "data that is not PEM",
    config("client-certificate-data: s3cret"),
    /client-certificate-data is not base64 of a PEM/,
  ],
  [
    "a token that YAML takes for a number",
    config("token: 123456"),
    /token must be a string \(put it in quotes\)/,
  ],
  ["an auth provider", config("auth-provider: {name: gcp}"), /auth-provider is not supported/],
  ["impersonation", config("as: root"), /user "agent": as is not supported/],
  [
    "a plugin that needs a person",
    config("exec: {command: x, interactiveMode: Always}"),
    /interactiveMode Always/,
  ],
  ["a plugin without a command", config("exec: {args: [x]}"), /exec has no command/],
];

for (const [what, text, expected] of faults) {
  test(`parseKubeconfig() refuses ${what} and names the file, without a secret`, () => {
    assert.throws(() => parseKubeconfig(text, path), (error: Error) => {
      assert.match(error.message, expected);
      assert.ok(error.message.startsWith(path), error.message);
      assert.doesNotMatch(error.message, /s3cret|123456/);
      return true;
    });
  });
}
