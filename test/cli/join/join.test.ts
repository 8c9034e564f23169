import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pinnedCertificates } from "../../../src/cli/join/ca-pin.ts";
import { joinCommand, joinedSettings } from "../../../src/cli/join/join.ts";
import { createAuthority, createServerCertificate } from "../../harness/certificates.ts";
import { tempFolder } from "../../temp-folder.ts";

async function createNode(t: TestContext, { status = 200, user = "admin", denied = "none" } = {}) {
  const server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request)).join("");
    response.writeHead(status, { "content-type": "application/json" });
    const answer = { allowed: !body.includes(`"resource":"${denied}"`), userInfo: { username: user } };
    response.end(JSON.stringify({
      gitVersion: "v1.30.1",
      minor: "30",
      metadata: { uid: "cluster-2" },
      status: answer,
    }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const temp = tempFolder();
  const dir = temp.path;
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    temp.remove();
  });
  const config = join(dir, "config.yaml");
  await writeFile(config, "standalone: true\nlog-level: debug # mine\n");
  let output = "";
  const io = {
    stdout: (text: string | Uint8Array) => void (output += text),
    stderr: () => {},
    env: {} as Record<string, string>,
    columns: 0,
    signal: new AbortController().signal,
  };
  return {
    dir,
    config,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    run: (flags: Record<string, string>, env = {}) =>
      joinCommand.run({ flags: { config, ...flags }, args: [] }, { ...io, env }),
    output: () => output,
  };
}

test("join writes a kubeconfig for the owner alone and points the settings at it", async (t) => {
  const node = await createNode(t);
  assert.equal(await node.run({ server: node.address }), 0);
  assert.match(node.output(), /reaches an API server v1\.30\.1/);
  const kubeconfig = join(node.dir, "kubeconfig");
  assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
  assert.match(await readFile(kubeconfig, "utf8"), new RegExp(`server: ["']?${node.address}`));
  assert.equal(await readFile(node.config, "utf8"), `log-level: debug # mine\nkubeconfig: ${kubeconfig}\n`);
});

test("join refuses a node whose Lease would belong to another, before it changes anything", async (t) => {
  const node = await createNode(t);
  const settings = "standalone: true\nnode-name: nckubelet-a\n";
  await writeFile(node.config, settings);
  await assert.rejects(
    node.run({ server: node.address }),
    /--node-name "nckubelet-a": must not begin with nckubelet-: its Lease would be that of the agent of node "a"/,
  );
  assert.deepEqual(await readdir(node.dir), ["config.yaml"]);
  assert.equal(await readFile(node.config, "utf8"), settings);
});

test("join accepts the node name and the cluster for a state that has a record of others", async (t) => {
  const node = await createNode(t);
  await writeFile(node.config, `state-dir: ${node.dir}\nnode-name: web-2\n`);
  assert.equal(await node.run({ server: node.address }), 0);
  assert.equal((await readdir(node.dir)).includes("node.json"), false);
  const record = join(node.dir, "node.json");
  await writeFile(record, JSON.stringify({ id: "5ca1ab1e", node: "web-1", cluster: "cluster-1" }));
  assert.equal(await node.run({ server: node.address, output: join(node.dir, "other") }), 0);
  assert.match(await readFile(record, "utf8"), /cluster-1/);
  assert.equal(await node.run({ server: node.address }), 0);
  assert.deepEqual(JSON.parse(await readFile(record, "utf8")), {
    id: "5ca1ab1e",
    node: "web-2",
    cluster: "cluster-2",
  });
});

test("join keeps the mode of the settings, and makes new ones readable", async (t) => {
  const node = await createNode(t);
  const modeAfterJoin = async () => {
    assert.equal(await node.run({ server: node.address }), 0);
    return (await stat(node.config)).mode & 0o777;
  };
  await chmod(node.config, 0o600);
  assert.equal(await modeAfterJoin(), 0o600);
  await rm(node.config);
  assert.equal(await modeAfterJoin(), 0o644);
});

test("join changes nothing when the API server does not answer", async (t) => {
  const node = await createNode(t);
  await assert.rejects(node.run({ server: "http://127.0.0.1:1" }), /127\.0\.0\.1:1/);
  assert.deepEqual(await readdir(node.dir), ["config.yaml"]);
  assert.match(await readFile(node.config, "utf8"), /^standalone: true$/m);
});

test("join changes nothing and says why when the API server refuses the credentials", async (t) => {
  const node = await createNode(t, { status: 401 });
  const message =
    /does not accept the credentials: the token or the certificate is wrong, expired or of another/;
  await assert.rejects(node.run({ server: node.address }), message);
  assert.deepEqual(await readdir(node.dir), ["config.yaml"]);
});

test("join changes nothing when the credential is that of another node, or lacks rights of an agent", async (t) => {
  const other = await createNode(t, { user: "nckubelet:edge-8" });
  const flags = { server: other.address, "node-name": "edge-7" };
  await assert.rejects(other.run(flags), /credential is that of node edge-8 .* this node is edge-7: use the/);
  assert.equal(await other.run({ ...flags, "node-name": "edge-8" }), 0);
  const poor = await createNode(t, { denied: "leases" });
  const missing =
    /may not get\/create\/update leases in kube-node-lease: nckubelet manifests \| kubectl apply -f -, and/;
  await assert.rejects(poor.run({ server: poor.address }), missing);
  await assert.rejects(poor.run({ server: poor.address, output: join(poor.dir, "other") }), missing);
  assert.deepEqual(await readdir(poor.dir), ["config.yaml"]);
  assert.match(await readFile(poor.config, "utf8"), /^standalone: true$/m);
});

test("join sends no token without encryption", async (t) => {
  const node = await createNode(t);
  await assert.rejects(
    node.run({ server: node.address }, { NCKUBELET_TOKEN: "secret" }),
    /--server http:.*: use https:\/\/, since a token/,
  );
});

test("join needs exactly one API server", async (t) => {
  const node = await createNode(t);
  await assert.rejects(node.run({}), /no API server is named/);
  await assert.rejects(node.run({ kubeconfig: "x", server: "y" }), /remove the other flags/);
});

test("joinedSettings() replaces only the settings of the API server", () => {
  assert.equal(
    joinedSettings("a: 1\n\nserver: x\nkubeconfig: y\n  server: nested\n", "/k"),
    "a: 1\n\n  server: nested\nkubeconfig: /k\n",
  );
  assert.equal(joinedSettings("", "/k"), "kubeconfig: /k\n");
});

/** An API server with its own CA, which it publishes, and the requests that it got. */
async function createCluster(t: TestContext) {
  const temp = tempFolder();
  const dir = temp.path;
  const authority = await createAuthority(dir, "ca");
  const { certFile, keyFile } = await createServerCertificate(dir, "server", authority, ["IP:127.0.0.1"]);
  const ca = await readFile(authority.certFile, "utf8");
  const asked: string[] = [];
  const identity = { cert: await readFile(certFile), key: await readFile(keyFile) };
  const server = createTlsServer(identity, (request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? "by nobody"}`);
    response.setHeader("content-type", "application/json");
    const published = JSON.stringify({
      clusters: [{ cluster: { "certificate-authority-data": btoa(ca) } }],
    });
    const answer = request.url === "/version"
      ? { gitVersion: "v1.30.1" }
      : { data: { kubeconfig: published }, status: { allowed: true } };
    response.end(JSON.stringify(answer));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    temp.remove();
  });
  return {
    dir,
    ca,
    caFile: authority.certFile,
    pin: digest(ca),
    asked,
    address: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

function digest(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

test("join reads the CA from the cluster if the digest is given, and sends its token only after that", async (t) => {
  const [node, cluster] = [await createNode(t), await createCluster(t)];
  const flags = { server: cluster.address, "ca-hash": cluster.pin };
  assert.equal(await node.run(flags, { NCKUBELET_TOKEN: "secret" }), 0);
  assert.deepEqual(cluster.asked.slice(0, 2), [
    "/api/v1/namespaces/kube-public/configmaps/cluster-info by nobody",
    "/version Bearer secret",
  ]);
  assert.ok((await readFile(join(node.dir, "kubeconfig"), "utf8")).includes(btoa(cluster.ca)));
});

test("join refuses a CA with another digest and changes nothing", async (t) => {
  const [node, cluster] = [await createNode(t), await createCluster(t)];
  const other = `sha256:${"0".repeat(64)}`;
  const says = `the CA of ${cluster.address} has the hash ${cluster.pin}, not ${other}`;
  for (const file of [{}, { "ca-file": cluster.caFile }] as Record<string, string>[]) {
    const flags = { server: cluster.address, "ca-hash": other, ...file };
    await assert.rejects(node.run(flags, { NCKUBELET_TOKEN: "secret" }), { message: says });
  }
  assert.ok(cluster.asked.every((line) => line.endsWith("by nobody")), cluster.asked.join("\n"));
  assert.deepEqual(await readdir(node.dir), ["config.yaml"]);
});

test("join refuses a digest in another form, or without https", async (t) => {
  const node = await createNode(t);
  const flags = { server: "https://127.0.0.1:1", "ca-hash": "sha256:00" };
  await assert.rejects(node.run(flags), /--ca-hash "sha256:00": use sha256: and 64 lowercase hex digits/);
  const pin = `sha256:${"0".repeat(64)}`;
  await assert.rejects(
    node.run({ server: node.address, "ca-hash": pin }),
    /use https:\/\/, since --ca-hash needs/,
  );
});

test("join --output writes only the kubeconfig", async (t) => {
  const node = await createNode(t);
  const output = join(node.dir, "staged");
  assert.equal(await node.run({ server: node.address, output }), 0);
  assert.equal((await stat(output)).mode & 0o777, 0o600);
  assert.deepEqual((await readdir(node.dir)).sort(), ["config.yaml", "staged"]);
  assert.match(await readFile(node.config, "utf8"), /^standalone: true$/m);
});

test("pinnedCertificates() returns only the pinned certificate", async (t) => {
  const dir = tempFolder(t).path;
  const [right = "", wrong = ""] = await Promise.all(
    ["right", "wrong"].map(async (name) =>
      await readFile((await createAuthority(dir, name)).certFile, "utf8")
    ),
  );
  assert.equal(pinnedCertificates(`${wrong}\n${right}`, digest(right), "x").trim(), right.trim());
  assert.throws(
    () => pinnedCertificates("no PEM", digest(right), "x"),
    /the CA of x is not a PEM certificate/,
  );
});

test("a file that join cannot use is named with its flag", async (t) => {
  const node = await createNode(t);
  const server = "https://127.0.0.1:1";
  await writeFile(join(node.dir, "token"), "secret");
  await assert.rejects(
    node.run({ server, "token-file": "/none/token" }),
    /^UsageError: --token-file \/none\/token: no such file$/,
  );
  await assert.rejects(
    node.run({ server, "ca-file": join(node.dir, "token") }),
    /^UsageError: --ca-file .*token: has no certificate in PEM form$/,
  );
});
