import assert from "node:assert/strict";
import { test } from "node:test";
import { parseProxy, proxyFromEnvironment } from "../../../src/kube/access/proxy.ts";

const proxy = "http://proxy.test:3128";
const chosen = (target: string, env: Record<string, string>) =>
  proxyFromEnvironment(new URL(target), env)?.href;

test("proxyFromEnvironment() chooses by the scheme of the server", () => {
  const env = { HTTPS_PROXY: "http://secure.test:1", HTTP_PROXY: "http://plain.test:2" };
  assert.equal(chosen("https://k8s.test", env), "http://secure.test:1/");
  assert.equal(chosen("http://k8s.test", env), "http://plain.test:2/");
});

test("proxyFromEnvironment() understands lower case and a missing scheme", () => {
  assert.equal(chosen("https://k8s.test", { https_proxy: "proxy.test:3128" }), `${proxy}/`);
});

test("proxyFromEnvironment() returns none if none is set", () => {
  assert.equal(chosen("https://k8s.test", { HTTP_PROXY: proxy }), undefined);
});

for (
  const loopback of ["https://localhost", "https://127.0.0.1:6443", "https://127.8.8.8", "https://[::1]:6443"]
) {
  test(`proxyFromEnvironment() reaches ${loopback} directly`, () => {
    assert.equal(chosen(loopback, { HTTPS_PROXY: proxy }), undefined);
  });
}

const exclusions: [string, string, boolean][] = [
  ["k8s.test", "https://k8s.test", true],
  ["k8s.test", "https://api.k8s.test", true],
  [".k8s.test", "https://api.k8s.test", true],
  [".k8s.test", "https://k8s.test", false],
  ["*.k8s.test", "https://api.k8s.test", true],
  ["s.test", "https://k8s.test", false],
  ["a.test, K8S.test", "https://k8s.test", true],
  ["*", "https://k8s.test", true],
  ["10.0.0.0/8", "https://10.1.2.3", true],
  ["10.0.0.0/8", "https://11.1.2.3", false],
  ["10.0.0.0/99", "https://10.1.2.3", false],
  ["fd00::/8", "https://[fd00::1]", true],
  ["10.1.2.3", "https://10.1.2.3", true],
  ["k8s.test:6443", "https://k8s.test:6443", true],
  ["k8s.test:6443", "https://k8s.test", false],
  ["k8s.test:443", "https://k8s.test", true],
  ["[fd00::1]:443", "https://[fd00::1]", true],
];

for (const [noProxy, target, excluded] of exclusions) {
  test(`NO_PROXY=${noProxy} ${excluded ? "excludes" : "does not exclude"} ${target}`, () => {
    assert.equal(
      chosen(target, { HTTPS_PROXY: proxy, NO_PROXY: noProxy }),
      excluded ? undefined : `${proxy}/`,
    );
  });
}

test("parseProxy() reports where a bad address comes from, without its password", () => {
  assert.throws(
    () => parseProxy("ftp://me:s3cret@proxy", "proxy-url"),
    /^Error: proxy-url: cannot use a ftp:\/\/ proxy/,
  );
  assert.throws(() => parseProxy("http://me:s3cret@:99999", "HTTPS_PROXY"), (error: Error) => {
    assert.match(error.message, /HTTPS_PROXY is not the address of a proxy/);
    return !error.message.includes("s3cret");
  });
});
