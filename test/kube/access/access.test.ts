import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { loadAccess } from "../../../src/kube/access/access.ts";
import { createKubeClient } from "../../../src/kube/client/client.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { json, refuse, withServer } from "../fake-server.ts";
import { alice, bob, ca } from "./certificates.ts";
import { kubeconfig, replace } from "./kubeconfigs.ts";

test("loadAccess() accepts a plain server address", async () => {
  const access = await loadAccess({ server: "http://127.0.0.1:8001" });
  assert.deepEqual(await access.authorize(), { headers: {} });
  assert.equal(access.describe(), "http://127.0.0.1:8001 (--server, anonymous)");
});

test("loadAccess() picks up a replaced token file, and keeps the last token while the file is missing or empty", async (t) => {
  const folder = tempFolder(t).path;
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, "first\n");
  const access = await loadAccess({ server: "https://k8s.test", tokenFile });
  const header = async () => (await access.authorize()).headers.authorization;
  assert.equal(await header(), "Bearer first");
  await replace(tokenFile, "second\n");
  assert.equal(await header(), "Bearer second");
  await rm(tokenFile);
  assert.equal(await header(), "Bearer second");
  await writeFile(tokenFile, "");
  assert.equal(await header(), "Bearer second");
  await replace(tokenFile, "third");
  assert.equal(await header(), "Bearer third");
});

test("loadAccess() names a token file that does not exist", async () => {
  const access = await loadAccess({ server: "https://k8s.test", tokenFile: "/nowhere/token" });
  await assert.rejects(access.authorize(), /cannot read token file \/nowhere\/token: .*ENOENT/);
});

test("loadAccess() picks up a changed client certificate only if its key matches", async (t) => {
  const folder = tempFolder(t).path;
  const cert = join(folder, "client.crt");
  const key = join(folder, "client.key");
  await writeFile(
    join(folder, "config"),
    kubeconfig("client-certificate: client.crt, client-key: client.key"),
  );
  await writeFile(cert, alice.cert);
  await writeFile(key, alice.key);
  const said: string[] = [];
  const log = { info() {}, warn: (message: string) => said.push(message) };
  const access = await loadAccess({ kubeconfig: join(folder, "config"), checkMs: 0, log });
  const first = await access.tls();
  assert.equal(first.cert, alice.cert);
  assert.equal(await access.tls(), first, "nothing changed: the same object");
  await replace(cert, bob.cert);
  await waitFor("it is noticed", async () => {
    assert.equal(await access.tls(), first, "the key does not fit yet");
    return said.length > 0;
  });
  await replace(key, bob.key);
  const second = await waitFor("the pair is used", async () => {
    const tls = await access.tls();
    return tls !== first && tls;
  });
  assert.deepEqual([second.cert, second.key], [bob.cert, bob.key]);
});

test("loadAccess() uses basic auth, namespace, server name and a changed authority of a kubeconfig", async (t) => {
  const folder = tempFolder(t).path;
  const authority = join(folder, "ca.crt");
  await writeFile(authority, ca);
  const cluster =
    'server: "https://k8s.test/base/", certificate-authority: ca.crt, tls-server-name: kube.test';
  await writeFile(join(folder, "config"), kubeconfig("username: me, password: s3cret", cluster));
  const access = await loadAccess({ kubeconfig: join(folder, "config"), checkMs: 0 });
  assert.deepEqual(await access.authorize(), { headers: { authorization: `Basic ${btoa("me:s3cret")}` } });
  assert.equal(access.namespace, "shop");
  const tls = await access.tls();
  assert.deepEqual([tls.ca, tls.servername, tls.rejectUnauthorized], [ca, "kube.test", true]);
  await replace(authority, `${ca}${ca}`);
  await waitFor("the changed authority is used", async () => await access.tls() !== tls);
  const shown = `https://k8s.test/base (context "c" of ${join(folder, "config")}, basic auth)`;
  assert.equal(access.describe(), shown);
});

test("loadAccess() prefers flags over the kubeconfig", async (t) => {
  const folder = tempFolder(t).path;
  await writeFile(join(folder, "config"), kubeconfig("token: old"));
  const access = await loadAccess({
    kubeconfig: join(folder, "config"),
    server: "https://other.test",
    token: "new",
    insecureSkipTlsVerify: true,
  });
  assert.equal(access.server.href, "https://other.test/");
  assert.deepEqual(await access.authorize(), { headers: { authorization: "Bearer new" } });
  assert.equal((await access.tls()).rejectUnauthorized, false);
});

test("loadAccess() uses the service account of a Pod", async (t) => {
  const folder = tempFolder(t).path;
  const serviceAccountDir = join(folder, "sa");
  await mkdir(serviceAccountDir);
  await writeFile(join(serviceAccountDir, "token"), "pod-token");
  await writeFile(join(serviceAccountDir, "ca.crt"), ca);
  await writeFile(join(serviceAccountDir, "namespace"), "nckubelet\n");
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
  const access = await loadAccess({ env, serviceAccountDir });
  assert.equal(access.server.origin, "https://[fd00::1]:6443");
  assert.equal(access.namespace, "nckubelet");
  assert.deepEqual(await access.authorize(), { headers: { authorization: "Bearer pod-token" } });
  assert.equal((await access.tls()).ca, ca);
});

test("loadAccess() prefers proxy-url over the environment", async (t) => {
  const folder = tempFolder(t).path;
  const cluster = 'server: "https://k8s.test", proxy-url: "http://mine.test:1"';
  await writeFile(join(folder, "config"), kubeconfig("", cluster));
  const env = { HTTPS_PROXY: "http://env.test:2" };
  assert.equal((await loadAccess({ kubeconfig: join(folder, "config"), env })).proxy?.host, "mine.test:1");
  assert.equal((await loadAccess({ server: "https://k8s.test", env })).proxy?.host, "env.test:2");
});

test("loadAccess() reports what is missing", async () => {
  await assert.rejects(loadAccess({}), /give a kubeconfig or a server/);
  await assert.rejects(
    loadAccess({ kubeconfig: "/nowhere" }),
    /cannot read kubeconfig \/nowhere: no such file$/,
  );
  await assert.rejects(
    loadAccess({ server: "k8s.test:6443" }),
    /must be an http:\/\/ or https:\/\/ address, not "k8s/,
  );
  await assert.rejects(loadAccess({ server: "https://me:s3cret@k8s.test" }), (error: Error) => {
    assert.match(error.message, /k8s\.test must not hold a password/);
    return !error.message.includes("s3cret");
  });
});

test("loadAccess() explains how to run without an API server", async () => {
  await assert.rejects(loadAccess({ env: {} }), /'nckubelet agent --standalone' needs no cluster$/);
});

test("a client sends each group of an impersonation as a header of its own", async (t) => {
  const folder = tempFolder(t).path;
  const config = join(folder, "config");
  await withServer((_, response) => json(response, {}), async ({ url, requests }) => {
    const user = "token: abc, as: jane, as-groups: [dev, ops], as-user-extra: {scopes: [a]}";
    await writeFile(config, kubeconfig(user, `server: "${url}"`));
    const client = createKubeClient(await loadAccess({ kubeconfig: config }));
    await client.request({ path: "/version" });
    client.close();
    const { authorization, ...headers } = requests[0]!.headers;
    assert.equal(authorization, "Bearer abc");
    assert.equal(headers["impersonate-user"], "jane");
    assert.equal(headers["impersonate-group"], "dev, ops", "Node joins what was sent twice");
    assert.equal(headers["impersonate-extra-scopes"], "a");
  });
});

test("after a 401, a client reads the kubeconfig again and repeats the request", async (t) => {
  const folder = tempFolder(t).path;
  const config = join(folder, "config");
  await withServer(({ headers }, response) => {
    if (headers.authorization === "Bearer new") return json(response, { ok: true });
    refuse(response, 401, "Unauthorized", "Unauthorized");
  }, async ({ url, requests }) => {
    const cluster = `server: "${url}"`;
    await writeFile(config, kubeconfig("token: old", cluster));
    // Files are not looked at: only the rejection makes it read again.
    const client = createKubeClient(await loadAccess({ kubeconfig: config, checkMs: Infinity }));
    await client.access.authorize();
    await replace(config, kubeconfig("token: new", cluster));
    assert.deepEqual(await client.request({ path: "/version" }), { ok: true });
    client.close();
    assert.deepEqual(requests.map(({ headers }) => headers.authorization), ["Bearer old", "Bearer new"]);
  });
});
