import assert from "node:assert/strict";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { KubeAccess } from "../../../src/kube/access/access.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { createClientIdentity } from "../../../src/node/identity/identity.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { createTestLog } from "../../report/test-log.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { createSigner } from "./signing.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

async function createMachine(t: TestContext) {
  const temp = tempFolder();
  const stopping: AbortController[] = [];
  const running: Promise<void>[] = [];
  t.after(async () => {
    for (const one of stopping) one.abort();
    await Promise.all(running);
    temp.remove();
  });
  const [folder, log, api] = [join(temp.path, "state"), createTestLog(), new FakeApi()];
  await mkdir(folder, { mode: 0o700 });
  const sign = await createSigner(temp.path);
  /** The status that the API server gives to each identity; 200 to all at first. */
  const answers = { token: 200, certificate: 200 };
  const tls = { rejectUnauthorized: true, ca: "authority" };
  const bootstrap: KubeAccess = {
    server: new URL("https://server.test:6443"),
    isBootstrap: true,
    describe: () => "https://server.test:6443 (bootstrap token)",
    credentials: async () => ({ headers: { authorization: "Bearer abcdef.0123456789abcdef" }, tls }),
    expiries: () => ({}),
    refresh() {},
  };
  const connect = (access: KubeAccess): KubeClient => ({
    ...api.client,
    request: async (request) => {
      const status = access === bootstrap ? answers.token : answers.certificate;
      if (status !== 200) {
        const url = "https://server.test:6443";
        throw new KubeError("refused", { method: "POST", url, status, reason: "Refused" });
      }
      return await api.client.request(request);
    },
  });
  const requests = () =>
    [...api.objects].filter(([path]) => path.startsWith(collection)).map(([, object]) => object);
  const start = async (node = "edge-7") => {
    const own = new AbortController();
    stopping.push(own);
    const identity = await createClientIdentity({ bootstrap, node, folder, log, connect });
    return {
      ...identity,
      run: () => void running.push(identity.run(own.signal)),
      stop: () => own.abort(),
    };
  };
  return {
    folder,
    log,
    api,
    answers,
    requests,
    start,
    /** Ends the newest request that waits. */
    async decide(conditions: object[], signed = false) {
      const waiting = await waitFor("a request", () => requests().find(({ status }) => !status));
      waiting.status = { conditions, ...(signed ? { certificate: sign(waiting.spec.request) } : {}) };
    },
    approve() {
      return this.decide([{ type: "Approved" }], true);
    },
  };
}

const credentialsOf = (access: KubeAccess) => access.credentials().catch(() => undefined);

test("a node gets its certificate with the token, and from then on sends the certificate only", async (t) => {
  const machine = await createMachine(t);
  const identity = await machine.start();
  await assert.rejects(identity.access.credentials(), /no client certificate yet/);
  identity.run();
  await machine.approve();
  const { headers, tls } = await waitFor("a certificate", () => credentialsOf(identity.access));
  assert.deepEqual([headers, tls.ca], [{}, "authority"]);
  assert.equal((await identity.access.credentials()).tls, tls, "the same object while nothing changes");
  const [request] = machine.requests();
  assert.deepEqual(request.spec.usages, ["digital signature", "client auth"]);
  assert.equal(request.spec.signerName, "kubernetes.io/kube-apiserver-client");
  const key = await readFile(join(machine.folder, "client.key"), "utf8");
  assert.equal(tls.key, key);
  assert.equal(JSON.stringify(machine.api.asked).includes(key.split("\n")[1]!), false, "the key stays here");
  await waitFor("the files", () => stat(join(machine.folder, "kubeconfig")).catch(() => undefined));
  for (const file of ["client.key", "client.crt", "kubeconfig"]) {
    assert.equal((await stat(join(machine.folder, file))).mode & 0o777, 0o600, file);
  }
});

test("an agent that is restarted finds its request again, and later its certificate", async (t) => {
  const machine = await createMachine(t);
  const first = await machine.start();
  first.run();
  await waitFor("a request", () => machine.requests().length === 1);
  first.stop();
  const second = await machine.start();
  second.run();
  await machine.approve();
  await waitFor("a certificate", () => credentialsOf(second.access));
  assert.equal(machine.requests().length, 1);
  await waitFor("the file", () => stat(join(machine.folder, "kubeconfig")).catch(() => undefined));
  second.stop();
  const third = await machine.start();
  assert.ok(await credentialsOf(third.access), "without a request");
  const other = await machine.start("edge-8");
  await assert.rejects(other.access.credentials(), /no client certificate yet/);
});

test("after a 401 the token is the way back, with the same key", async (t) => {
  const machine = await createMachine(t);
  const identity = await machine.start();
  identity.run();
  await machine.approve();
  const before = await waitFor("a certificate", () => credentialsOf(identity.access));
  machine.answers.certificate = 401;
  identity.access.refresh();
  await machine.approve();
  const after = await waitFor("another certificate", async () => {
    const now = await identity.access.credentials();
    return now.tls.cert !== before.tls.cert ? now : undefined;
  });
  assert.equal(after.tls.key, before.tls.key);
});

test("a server that accepts neither certificate nor token is named, and the certificate stays", async (t) => {
  const machine = await createMachine(t);
  const identity = await machine.start();
  identity.run();
  await machine.approve();
  await waitFor("a certificate", () => credentialsOf(identity.access));
  Object.assign(machine.answers, { certificate: 401, token: 401 });
  identity.access.refresh();
  await waitFor("the reason", () => machine.log.text().includes("run nckubelet join"));
  assert.match(
    machine.log.text(),
    /does not accept the certificate: it is valid until .*; the API server does not accept the bootstrap token: it has expired/,
  );
  assert.ok(await credentialsOf(identity.access));
});

test("a denial, and a token of another group, are reported with their reason", async (t) => {
  const machine = await createMachine(t);
  machine.answers.token = 403;
  const identity = await machine.start();
  identity.run();
  await waitFor("the reason", () => machine.log.text().includes("auth-extra-groups"));
  machine.answers.token = 200;
  await machine.decide([{ type: "Denied", message: "the Node edge-7 exists" }]);
  await waitFor("the denial", () => machine.log.text().includes("denied: the Node edge-7 exists"));
  await machine.approve();
  await waitFor("a certificate", () => credentialsOf(identity.access), 30_000);
  assert.equal(machine.requests().length, 2);
});

test("a certificate for another key is not used", async (t) => {
  const machine = await createMachine(t);
  const other = await createMachine(t);
  const identity = await machine.start();
  identity.run();
  const foreign = await other.start();
  foreign.run();
  await other.approve();
  const stolen = await waitFor("another certificate", () => other.requests()[0].status?.certificate);
  const waiting = await waitFor("a request", () => machine.requests()[0]);
  waiting.status = { conditions: [{ type: "Approved" }], certificate: stolen };
  await waitFor("the reason", () => machine.log.text().includes("for another key or subject"));
  assert.equal(await credentialsOf(identity.access), undefined);
});

test("a key that cannot be written is not used: nothing is requested", async (t) => {
  const machine = await createMachine(t);
  const identity = await machine.start();
  // No user, not even root, replaces a folder by a file.
  await mkdir(join(machine.folder, "client.key"));
  identity.run();
  await waitFor("the reason", () => machine.log.text().includes("no client certificate yet"));
  assert.equal(machine.requests().length, 0);
});
