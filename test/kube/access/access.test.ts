import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
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
  assert.deepEqual(await access.credentials(), { headers: {}, tls: { rejectUnauthorized: true } });
  assert.equal(access.describe(), "http://127.0.0.1:8001 (--server, anonymous)");
});

test("loadAccess() picks up a replaced token of a Pod, and keeps the last while the file is missing or empty", async (t) => {
  const { access, folder } = await inPod(t, { token: "first\n" });
  const token = join(folder, "token");
  const header = async () => (await access.credentials()).headers.authorization;
  assert.equal(await header(), "Bearer first");
  await replace(token, "second\n");
  assert.equal(await header(), "Bearer second");
  await rm(token);
  assert.equal(await header(), "Bearer second");
  await writeFile(token, "");
  assert.equal(await header(), "Bearer second");
  await replace(token, "third");
  assert.equal(await header(), "Bearer third");
});

test("loadAccess() names a token of a Pod that does not exist", async (t) => {
  const { access, folder } = await inPod(t);
  await rm(join(folder, "token"));
  const message = `cannot read token file ${join(folder, "token")}: ENOENT`;
  await assert.rejects(access.credentials(), ({ message: found }: Error) => found.startsWith(message));
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
  const tlsOf = async () => (await access.credentials()).tls;
  const first = await tlsOf();
  assert.equal(first.cert, alice.cert);
  assert.equal(await tlsOf(), first, "nothing changed: the same object");
  await replace(cert, bob.cert);
  await waitFor("it is noticed", async () => {
    assert.equal(await tlsOf(), first, "the key does not fit yet");
    return said.length > 0;
  });
  await replace(key, bob.key);
  const second = await waitFor("the pair is used", async () => {
    const tls = await tlsOf();
    return tls !== first && tls;
  });
  assert.deepEqual([second.cert, second.key], [bob.cert, bob.key]);
});

test("loadAccess() prefers another server over that of the kubeconfig, and keeps its credential", async (t) => {
  const folder = tempFolder(t).path;
  await writeFile(join(folder, "config"), kubeconfig("token: abc"));
  const access = await loadAccess({ kubeconfig: join(folder, "config"), server: "https://other.test" });
  assert.equal(access.server.href, "https://other.test/");
  assert.deepEqual((await access.credentials()).headers, { authorization: "Bearer abc" });
});

/** The access of a Pod, whose service account is in `folder`. */
async function inPod(t: Parameters<typeof tempFolder>[0], { token = "pod-token" } = {}) {
  const folder = tempFolder(t).path;
  const files = { token, "ca.crt": ca, namespace: "nckubelet\n" };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
  return { folder, access: await loadAccess({ env, serviceAccountDir: folder }) };
}

test("loadAccess() uses the service account of a Pod", async (t) => {
  const { access } = await inPod(t);
  assert.equal(access.server.origin, "https://[fd00::1]:6443");
  assert.equal(access.namespace, "nckubelet");
  const { headers, tls } = await access.credentials();
  assert.deepEqual([headers, tls.ca], [{ authorization: "Bearer pod-token" }, ca]);
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
    await client.access.credentials();
    await replace(config, kubeconfig("token: new", cluster));
    assert.deepEqual(await client.request({ path: "/version" }), { ok: true });
    client.close();
    assert.deepEqual(requests.map(({ headers }) => headers.authorization), ["Bearer old", "Bearer new"]);
  });
});
