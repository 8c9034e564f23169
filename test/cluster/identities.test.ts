/** From a bootstrap token to a Ready node, with a real signer: kube-controller-manager signs what the controller approves. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Buffer } from "node:buffer";
import { agentUser, bootstrapGroup, identitiesAccount } from "../../src/api/names.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { CertificateRequest } from "../../src/identities/decide.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { clientRequest, type Keys, newKeys, servingRequest } from "../identities/requests.ts";
import { skipUnless, skipUnlessControllers } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const skip = skipUnless("control-plane") || skipUnlessControllers();
const temp = tempFolder();
const resources = new AsyncDisposableStack();
const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const [tokenId, tokenSecret] = ["abcdef", "0123456789abcdef"];
const token = `${tokenId}.${tokenSecret}`;
let cluster: Cluster;
let agent: AgentProcess;
let controllerLog = "";
let controller: ChildProcess;

/** The right to approve certificates is bound only together with the admission policies. */
function testIdentities(name: string, work: () => Promise<void>): void {
  test(name, { skip }, async (t) => {
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
    await work();
  });
}

before(async () => {
  if (skip) return;
  cluster = resources.use(
    await startControlPlane({
      users: [...defaultUsers, { name: identitiesAccount, groups: [] }],
      checkNodes: true,
      apiServerFlags: ["--enable-bootstrap-token-auth"],
      // As short as a renewal can be seen: the signer takes any duration.
      controllers: ["--cluster-signing-duration=30s"],
      prepare: (cluster) => installCRD(cluster),
    }),
  );
  await createToken(tokenId, tokenSecret, bootstrapGroup);
  await startController();
});

after(async () => {
  await resources.disposeAsync();
  temp.remove();
});

async function createToken(id: string, secret: string, groups: string) {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": id,
      "token-secret": secret,
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": groups,
    },
  });
}

async function startController() {
  const kubeconfig = await cluster.kubeconfigFor(identitiesAccount);
  const words = ["controller", "--only=identities", "--listen=", "--kubeconfig", kubeconfig];
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH },
  });
  controller = child;
  child.stderr.setEncoding("utf8").on("data", (chunk) => controllerLog += chunk);
  resources.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
}

/** Runs `nckubelet join` and returns the kubeconfig. */
async function joined(name: string, given: string) {
  const kubeconfig = join(temp.path, `${name}.kubeconfig`);
  const words = ["join", "--server", cluster.server, "--ca-file", cluster.caFile, "--output", kubeconfig];
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH, NCKUBELET_TOKEN: given },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => stderr += chunk);
  const [code] = await once(child, "close");
  return { kubeconfig, code, stderr };
}

testIdentities("join refuses a bootstrap token of another group, and says what it lacks", async () => {
  await createToken("fedcba", tokenSecret, "system:bootstrappers:others");
  const { code, stderr } = await waitFor("the token is known", async () => {
    const result = await joined("other", `fedcba.${tokenSecret}`);
    return /401|not accept/.test(result.stderr) ? undefined : result;
  });
  assert.equal(code, 1);
  assert.match(stderr, /auth-extra-groups: system:bootstrappers:nckubelet/);
  assert.doesNotMatch(stderr, new RegExp(tokenSecret));
});

const certificates = (state: string) => readFile(join(state, "client.crt"), "utf8");

testIdentities("a bootstrap token becomes a Ready node with a key and certificates of its own", async () => {
  // RBAC and tokens take effect once the API server's own watches have seen them.
  const { kubeconfig } = await waitFor("the token may request certificates", async () => {
    const result = await joined("edge-7", token);
    return result.code === 0 ? result : undefined;
  });
  assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
  const stateDir = join(temp.path, "edge-7");
  agent = resources.use(
    await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "edge-7", "--kubelet-listen", ":0"], {
      stateDir,
    }),
  );
  await waitFor("the Node is Ready", async () => {
    const node = await cluster.find<{ status: { conditions?: { type: string; status: string }[] } }>(
      "/api/v1/nodes/edge-7",
    );
    return node?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  }, 90_000);
  for (const file of ["client.key", "client.crt", "kubeconfig"]) {
    assert.equal((await stat(join(stateDir, file))).mode & 0o777, 0o600, file);
  }
  const certificate = new X509Certificate(await certificates(stateDir));
  assert.deepEqual(certificate.subject.split("\n").sort(), ["CN=nckubelet:edge-7", "O=nckubelet:agents"]);
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  const serving = await waitFor(
    "a serving certificate",
    () => readFile(join(stateDir, "serving.crt"), "utf8").catch(() => undefined),
    60_000,
  );
  const served = new X509Certificate(serving);
  assert.deepEqual([served.keyUsage, served.checkHost("edge-7")], [["1.3.6.1.5.5.7.3.1"], "edge-7"]);
  assert.doesNotMatch(agent.log() + controllerLog, new RegExp(tokenSecret));
  const { stdout } = await cluster.kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
    kubeconfig: join(stateDir, "kubeconfig"),
  });
  assert.equal(stdout, "nckubelet:edge-7");
  const flags = ["--kubeconfig", kubeconfig, "--state-dir", stateDir, "--socket", agent.socket];
  assert.match((await agent.command("doctor", ...flags)).stdout, /OK +rbac +all \d+ permissions/i);
});

testIdentities("certificates are renewed three times, the watch is kept, and no app is touched", async () => {
  const shellFile = join(temp.path, "app.sh");
  await writeFile(shellFile, "#!/bin/sh\necho started\nexec sleep 1000\n", { mode: 0o755 });
  await cluster.apply(manifest("steady", { shellFile, nodeName: "edge-7" }));
  const path = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps/steady";
  type App = { status?: { phase?: string; pid?: number; restarts?: number } };
  const running = await waitFor("the app runs", async () => {
    const app = await cluster.find<App>(path);
    return app?.status?.phase === "Running" && app.status.pid ? app.status : undefined;
  }, 60_000);
  const watches = async () => {
    const text = await (await fetch(`${agent.url}/metrics`)).text();
    return text.match(/^nckubelet_watch_restarts_total\{.*$/mg) ?? [];
  };
  const before = await watches();
  const serials = new Set<string>();
  const stateDir = join(temp.path, "edge-7");
  const key = await readFile(join(stateDir, "client.key"), "utf8");
  await waitFor("three renewals", async () => {
    serials.add(new X509Certificate(await certificates(stateDir)).serialNumber);
    return serials.size >= 4;
  }, 240_000);
  assert.equal(await readFile(join(stateDir, "client.key"), "utf8"), key);
  const { status } = await cluster.get<App>(path);
  assert.deepEqual([status?.pid, status?.restarts ?? 0], [running.pid, running.restarts ?? 0]);
  assert.deepEqual(await watches(), before);
  // What is written with the newest certificate arrives.
  await cluster.kubectl(["patch", "ncapp", "steady", "--type=merge", "-p", '{"spec":{"suspend":true}}']);
  await waitFor("the app stops", async () => !(await cluster.get<App>(path)).status?.pid, 60_000);
});

testIdentities("kubectl logs and exec work while the API server checks the serving certificate", async () => {
  const shellFile = join(temp.path, "served.sh");
  await writeFile(shellFile, "#!/bin/sh\necho served\nexec sleep 1000\n", { mode: 0o755 });
  await cluster.apply(manifest("served", { shellFile, nodeName: "edge-7", allowExec: true }));
  const attempt = async (...words: string[]) => (await cluster.kubectl(words, { allowFail: true })).stdout;
  await waitFor("kubectl logs", async () => await attempt("logs", "served") === "served\n", 90_000);
  await waitFor(
    "kubectl exec",
    async () => await attempt("exec", "served", "--", "echo", "in") === "in\n",
    90_000,
  );
});

testIdentities(
  "an app waits for its Secrets, its node may read these alone, and none when it has left",
  async () => {
    const shellFile = join(temp.path, "needing.sh");
    await writeFile(shellFile, "#!/bin/sh\necho got $PASSWORD\nexec sleep 1000\n", { mode: 0o755 });
    for (const name of ["needed", "second", "other"]) {
      await cluster.kubectl(["create", "secret", "generic", name, `--from-literal=password=of-${name}`]);
    }
    const apps = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
    const run = (name: string, secret: string) => {
      const valueFrom = { secretKeyRef: { name: secret, key: "password" } };
      const env = [{ name: "PASSWORD", valueFrom }];
      return cluster.apply(manifest(name, { shellFile, nodeName: "edge-7", env }));
    };
    type App = { status?: { phase?: string; reason?: string } };
    const statusOf = async (name: string) => (await cluster.get<App>(`${apps}/${name}`)).status;
    const isRunning = (name: string) =>
      waitFor(`${name} runs`, async () => (await statusOf(name))?.phase === "Running", 90_000);
    const own = { kubeconfig: join(temp.path, "edge-7", "kubeconfig") };
    const get = async (secret: string, who: { token?: string; kubeconfig?: string } = own) => {
      const { code, stderr } = await cluster.kubectl(["get", "secret", ...secret ? [secret] : []], {
        ...who,
        allowFail: true,
      });
      return code === 0 ? "read" : /Forbidden/.test(stderr) ? "forbidden" : stderr;
    };

    controller.kill("SIGSTOP");
    await run("needing", "needed");
    await waitFor(
      "it waits",
      async () => (await statusOf("needing"))?.reason === "WaitingForSecrets",
      60_000,
    );
    assert.equal((await statusOf("needing"))?.phase, "Pending");
    controller.kill("SIGCONT");
    await isRunning("needing");
    await waitFor("it has the value", async () => {
      return (await cluster.kubectl(["logs", "needing"], { allowFail: true })).stdout === "got of-needed\n";
    }, 60_000);
    await run("also-needing", "second");
    await isRunning("also-needing");
    assert.deepEqual(
      [await get("needed"), await get("second"), await get("other"), await get("")],
      ["read", "read", "forbidden", "forbidden"],
    );
    const another = { token: cluster.tokenFor(agentUser("node-b")) };
    assert.deepEqual([await get("needed", another), await get("second", another)], [
      "forbidden",
      "forbidden",
    ]);
    const { stdout: warnings } = await cluster.kubectl([
      ...["get", "events", "--field-selector=type=Warning,involvedObject.name=needing", "-o", "name"],
    ]);
    assert.equal(warnings, "");

    // A controller that starts again takes nothing while it learns what there is.
    const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    const { items: [role] } = await cluster.get<
      { items: { metadata: { name: string; resourceVersion: string } }[] }
    >(
      `${path}?labelSelector=app.example.com/grant=true`,
    );
    controller.kill("SIGKILL");
    await once(controller, "exit");
    const from = controllerLog.length;
    await startController();
    await waitFor("it leads", () => controllerLog.slice(from).includes("leading"), 60_000);
    await cluster.kubectl(["delete", "role", role!.metadata.name]);
    await waitFor("the deleted Role is back", async () => await get("needed") === "read", 60_000);

    await cluster.kubectl(["delete", "ncapp", "needing"]);
    await waitFor("the Role is narrower", async () => await get("needed") === "forbidden", 60_000);
    assert.equal(await get("second"), "read");
    await cluster.kubectl(["delete", "ncapp", "also-needing"]);
    await waitFor("the Role is gone", async () => await get("second") === "forbidden", 60_000);
    await waitFor("and its binding", async () => {
      const words = ["get", "roles,rolebindings", "-l", "app.example.com/grant=true", "-o", "name"];
      return (await cluster.kubectl(words)).stdout === "";
    });
  },
);

testIdentities("a copy of a node's key makes no second node: it takes no app, and says why", async () => {
  const pid = await waitFor("the app runs", () => pidOf("served"));
  const [own, stateDir] = ["edge-7", "copy"].map((name) => join(temp.path, name));
  await mkdir(stateDir!);
  for (const file of ["client.key", "client.crt"]) await copyFile(join(own!, file), join(stateDir!, file));
  const flags = ["--kubeconfig", join(temp.path, "edge-7.kubeconfig"), "--node-name", "edge-7"];
  await using copy = await startAgentProcess(flags, { stateDir });
  await waitFor(
    "the reason",
    () => /another agent, .*, renews .*: two machines have the node name edge-7/.test(copy.log()),
    60_000,
  );
  const apps = await (await fetch(`${copy.url}/apps`)).text();
  assert.doesNotMatch(apps, /"pid":/);
  assert.equal(await pidOf("served"), pid);
  assert.doesNotMatch(agent.log(), /two machines have the node name/);
});

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
let count = 0;

function requestObject({ signerName, usages, request }: CertificateRequest) {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: `attempt-${++count}` },
    spec: { signerName, usages, request: Buffer.from(request).toString("base64") },
  };
}

/** Sends a request as the owner of the token or of the kubeconfig; returns its end, or the refusal of the API server. */
async function endOf(request: CertificateRequest, who: { token?: string; kubeconfig?: string } = { token }) {
  const object = requestObject(request);
  const input = JSON.stringify(object);
  const { code, stderr } = await cluster.kubectl(["create", "-f", "-"], { ...who, input, allowFail: true });
  if (code !== 0) return `refused: ${stderr}`;
  return await waitFor("a decision", async () => {
    type Answer = { status?: { conditions?: { type: string; message: string }[]; certificate?: string } };
    const { status } = await cluster.get<Answer>(`${collection}/${object.metadata.name}`);
    const end = status?.conditions?.find(({ type }) => type !== "Approved");
    return end ? `${end.type}: ${end.message}` : status?.certificate;
  }, 60_000);
}

testIdentities(
  "what a bootstrap token or a stolen node must not have is refused with the reason",
  async () => {
    const stolen = { kubeconfig: join(temp.path, "edge-7", "kubeconfig") };
    const ofToken = { token };
    type Row = [CertificateRequest, { token?: string; kubeconfig?: string }, RegExp];
    const table: Row[] = [
      [clientRequest("edge-7"), ofToken, /^Denied: node edge-7 has a certificate with another key/],
      [
        clientRequest("edge-9", { organization: "nckubelet:schedulers" }),
        ofToken,
        /^Denied: the subject must be/,
      ],
      [clientRequest("", { commonName: "system:kube-scheduler" }), ofToken, /^Denied: the subject must be/],
      [clientRequest("nckubelet-edge-7"), ofToken, /^Denied: .* must not begin with nckubelet-/],
      [clientRequest("kubernetes.default.svc"), ofToken, /^Denied: .* belongs to the API server/],
      [
        clientRequest("edge-9", { usages: ["client auth", "server auth"] }),
        ofToken,
        /^Denied: the usages must be client auth, digital signature/,
      ],
      [clientRequest("edge-9", { organization: "system:masters" }), ofToken, /^refused: .*system:masters/],
      [
        servingRequest("edge-7"),
        ofToken,
        /^refused: .*bootstrap tokens of kubernetes.io\/kube-apiserver-client/,
      ],
      [
        clientRequest("edge-9", { signerName: "kubernetes.io/kube-apiserver-client-kubelet" }),
        ofToken,
        /^refused: .*agents request certificates of/,
      ],
      [
        clientRequest("edge-8"),
        stolen,
        /^Denied: the agent of node edge-7 may not have a certificate of node edge-8/,
      ],
      [servingRequest("edge-8"), stolen, /^Denied: the agent of node edge-7 may not/],
      [
        servingRequest("edge-7", { names: ["kubernetes.default.svc"] }),
        stolen,
        /^Denied: kubernetes.default.svc is no name or address of the Node edge-7/,
      ],
      [
        servingRequest("edge-7", { names: ["127.0.0.1"] }),
        stolen,
        /^Denied: 127.0.0.1 is no name or address/,
      ],
      [clientRequest("edge-7"), stolen, /^Denied: node edge-7 has a certificate with another key/],
      ...["Kubernetes.Default.SVC", "*", "*.example.com", "edge-7.", "127.1"].map((
        name,
      ): Row => [
        servingRequest("edge-7", { names: ["edge-7", name] }),
        stolen,
        /^Denied: the alternative name ".*" is no plain host name/,
      ]),
      [
        servingRequest("edge-7", { names: ["edge-7", "web.monitoring"] }),
        stolen,
        /^Denied: web.monitoring is no name or address of the Node edge-7/,
      ],
      [
        servingRequest("edge-7", { names: [] }),
        stolen,
        /^Denied: a serving certificate needs alternative names/,
      ],
      [
        servingRequest("edge-7", { usages: ["digital signature", "server auth", "client auth"] }),
        stolen,
        /^(Denied: the usages must be|refused: )/,
      ],
      [
        servingRequest("edge-7", { organization: "system:masters" }),
        stolen,
        /^Denied: the subject must be O=system:nodes/,
      ],
      [
        clientRequest("edge-9", { names: ["edge-9"] }),
        ofToken,
        /^Denied: a client certificate has no alternative names/,
      ],
      [clientRequest("Edge-9"), ofToken, /^Denied: the node name "Edge-9": not a node name/],
      [
        clientRequest("edge-9", { names: Array.from({ length: 90 }, (_, at) => `n${at}.${"x".repeat(40)}`) }),
        ofToken,
        /^Denied: the request has \d+ bytes, more than 4096/,
      ],
      [clientRequest("edge-9", { request: "x".repeat(9000) }), ofToken, /^refused: /],
      [
        clientRequest("edge-9", { request: clientRequest("edge-9").request.replace(/\n.{40}/, "\nAAAA") }),
        ofToken,
        /^(Denied|refused): /,
      ],
      [
        clientRequest("edge-9", { keys: generateKeyPairSync("ec", { namedCurve: "P-384" }) }),
        ofToken,
        /^Denied: the key of the request is not an ECDSA key of P-256/,
      ],
    ];
    assert.ok(table.length >= 25);
    for (const [request, who, expected] of table) assert.match(String(await endOf(request, who)), expected);
  },
);

testIdentities(
  "neither agents nor bootstrap tokens approve, and the controller approves only what is theirs",
  async () => {
    const stolen = { kubeconfig: join(temp.path, "edge-7", "kubeconfig") };
    const foreign = requestObject(clientRequest("", { organization: "ops", commonName: "alice" }));
    await cluster.apply(foreign);
    const controller = { token: cluster.tokenFor(identitiesAccount) };
    const approve = ["certificate", "approve", foreign.metadata.name];
    const attempts: [string[], { token?: string; kubeconfig?: string }, RegExp][] = [
      [approve, { token }, /forbidden/i],
      [approve, stolen, /forbidden/i],
      [
        ["delete", "csr", foreign.metadata.name],
        controller,
        /only requests of agents and of their bootstrap tokens/,
      ],
      [["-n", "nckubelet-agents", "get", "configmaps"], stolen, /forbidden/i],
      [["-n", "nckubelet-agents", "create", "configmap", "nckubelet-edge-9"], stolen, /forbidden/i],
      [["get", "nodes"], { token }, /forbidden/i],
      [["get", "csr"], stolen, /forbidden/i],
    ];
    for (const [words, who, expected] of attempts) {
      const { code, stderr } = await cluster.kubectl(words, { ...who, allowFail: true });
      assert.notEqual(code, 0, words.join(" "));
      assert.match(stderr, expected);
    }
    // kubectl approves by an update, the controller by a patch.
    const conditions = [{ type: "Approved", status: "True", reason: "Stolen", message: "stolen" }];
    const { status, body } = await cluster.request(`${collection}/${foreign.metadata.name}/approval`, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { status: { conditions } },
      ...controller,
    });
    assert.equal(status, 403);
    assert.match(body, /only requests of agents and of their bootstrap tokens/);
  },
);

testIdentities("a deleted Node is not renewed, not even if its agent registers it again", async () => {
  const keys = newKeys();
  const kubeconfig = await kubeconfigOf(
    "edge-9",
    keys,
    String(await endOf(clientRequest("edge-9", { keys }))),
  );
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "edge-9", annotations: { "app.example.com/registered-by": "nckubelet" } },
    spec: { taints: [{ key: "app.example.com/nckubelet", effect: "NoSchedule" }] },
  };
  const register = () => cluster.kubectl(["create", "-f", "-"], { kubeconfig, input: JSON.stringify(node) });
  const renewal = () => endOf(clientRequest("edge-9", { keys }), { kubeconfig });
  await register();
  await waitFor("the claim knows its Node", async () => {
    const { data } = await cluster.get<{ data: { node?: string } }>(
      "/api/v1/namespaces/nckubelet-agents/configmaps/nckubelet-edge-9",
    );
    return data.node;
  });
  assert.doesNotMatch(String(await renewal()), /^(Denied|refused)/);
  await cluster.kubectl(["delete", "node", "edge-9"]);
  assert.match(String(await renewal()), /^Denied: the Node edge-9 was deleted/);
  await register();
  assert.match(String(await renewal()), /^Denied: the Node edge-9 was deleted/);
});

testIdentities(
  "who has a bootstrap token gets no right over the Node of a kubelet by asking for its name first",
  async () => {
    const keys = newKeys();
    const certificate = String(await endOf(clientRequest("worker-4", { keys })));
    const kubeconfig = await kubeconfigOf("worker-4", keys, certificate);
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "worker-4" } });
    const status = { nodeInfo: { kubeletVersion: "v1.36.4" } };
    await cluster.request("/api/v1/nodes/worker-4/status", {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { status },
    });
    const touch = async () => {
      const words = ["label", "node", "worker-4", "app.example.com/nckubelet=true", "--overwrite"];
      return (await cluster.kubectl(words, { kubeconfig, allowFail: true })).stderr;
    };
    await waitFor(
      "the name is refused",
      async () => /refuses the agent of this node/.test(await touch()),
      60_000,
    );
    assert.match(
      String(await endOf(clientRequest("worker-4", { keys }))),
      /^Denied: a kubelet made the Node worker-4/,
    );
    // An administrator wants both on this machine.
    await cluster.kubectl(["-n", "nckubelet-agents", "delete", "configmap", "nckubelet-worker-4"]);
    await cluster.kubectl(["-n", "nckubelet-agents", "create", "configmap", "nckubelet-worker-4"]);
    assert.doesNotMatch(String(await endOf(clientRequest("worker-4", { keys }))), /^(Denied|refused)/);
    await waitFor("it is refused no longer", async () => await touch() === "", 60_000);
  },
);

async function kubeconfigOf(node: string, { privateKey }: Keys, certificate: string): Promise<string> {
  const file = join(temp.path, `${node}.own`);
  const ca = (await readFile(cluster.caFile)).toString("base64");
  const key = Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" })).toString("base64");
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "own",
      contexts: [{ name: "own", context: { cluster: "own", user: agentUser(node) } }],
      clusters: [{ name: "own", cluster: { server: cluster.server, "certificate-authority-data": ca } }],
      users: [{
        name: agentUser(node),
        user: { "client-certificate-data": certificate, "client-key-data": key },
      }],
    }),
    { mode: 0o600 },
  );
  return file;
}

/** Waits until the agent's certificate has expired, and says which it was. */
async function expired(): Promise<string> {
  const { serialNumber, validTo } = new X509Certificate(await certificates(join(temp.path, "edge-7")));
  await waitFor("the certificate has expired", () => Date.now() > Date.parse(validTo) + 1000, 60_000);
  return serialNumber;
}

async function pidOf(app: string): Promise<number | undefined> {
  const answer = await (await fetch(`${agent.url}/apps/default/${app}`)).json();
  return (answer as { status?: { pid?: number } }).status?.pid;
}

async function renewed(before: string) {
  await waitFor("another certificate", async () => {
    const { serialNumber } = new X509Certificate(await certificates(join(temp.path, "edge-7")));
    return serialNumber !== before;
  }, 90_000);
  await waitFor("it is accepted", async () => (await fetch(`${agent.url}/readyz`)).status === 200, 60_000);
}

testIdentities(
  "a certificate that expired while the machine was off, or the signer away, comes back by the token",
  async () => {
    const pid = await waitFor("the app runs", () => pidOf("served"));
    await agent.kill("SIGKILL");
    const before = await expired();
    await agent.start();
    await renewed(before);
    assert.equal(await pidOf("served"), pid);

    await cluster.controllerManager!.kill("SIGKILL");
    const last = await expired();
    assert.equal(await pidOf("served"), pid);
    await cluster.controllerManager!.start();
    await renewed(last);
    assert.equal(await pidOf("served"), pid);
  },
);

testIdentities(
  "an agent without a valid certificate and token says so, and its apps keep running",
  async () => {
    const pid = await waitFor("the app runs", () => pidOf("served"));
    await cluster.kubectl(["-n", "kube-system", "delete", "secret", `bootstrap-token-${tokenId}`]);
    await agent.kill("SIGKILL");
    const last = await expired();
    await agent.start();
    await waitFor(
      "the reason",
      () => /bootstrap token: it has expired.*run nckubelet join/.test(agent.log()),
      60_000,
    );
    assert.equal(await pidOf("served"), pid);
    await createToken(tokenId, tokenSecret, bootstrapGroup);
    await renewed(last);
    assert.equal(await pidOf("served"), pid);
  },
);
