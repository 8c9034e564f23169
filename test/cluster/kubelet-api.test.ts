/** What an agent serves to others, with a real API server and its own kubectl: the kubelet API, and its own by TLS. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { request as secureRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { agentGroup, agentUser } from "../../src/api/names.ts";
import { shellQuote } from "../../src/lib/shell.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { createServerCertificate } from "../harness/certificates.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { allowPods, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { monitorUser, testTlsListener } from "./tls-listener.ts";

const skip = skipUnless("control-plane");
const noScript = skip || (!existsSync("/usr/bin/script") && "no script(1) here");
const temp = tempFolder();
const resources = new AsyncDisposableStack();
const readers = [{ name: "metrics-reader", groups: [] }, { name: "viewer", groups: [] }];
let cluster: Cluster;
let agent: AgentProcess;
let kubeletPort = 0;

before(async () => {
  if (skip) return;
  cluster = resources.use(await startControlPlane({ users: [...defaultUsers, ...readers, monitorUser] }));
  await installCRD(cluster);
  await allowPods(cluster);
  const kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
  agent = resources.use(
    await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a", "--kubelet-listen", ":0"]),
  );
  const shellFile = join(temp.path, "web.sh");
  await writeFile(shellFile, '#!/bin/sh\ni=0\nwhile :; do i=$((i+1)); echo "tick $i"; sleep 0.2; done\n', {
    mode: 0o755,
  });
  const env = [{ name: "COLOUR", value: "blue" }];
  await cluster.apply(
    manifest("web", { shellFile, nodeName: "node-a", env, workingDir: temp.path, allowExec: true }),
  );
  const port = await waitFor(
    "the kubelet API is served",
    () => /serving the kubelet API address="?https:\S+:(\d+)"?/.exec(agent.log())?.[1],
  );
  kubeletPort = Number(port);
  await waitFor("the app runs and kubectl sees it", async () => {
    const { stdout } = await cluster.kubectl(["logs", "web", "--tail=1"], { allowFail: true });
    return stdout.startsWith("tick");
  });
});

after(async () => {
  await resources.disposeAsync();
  temp.remove();
});

/** kubectl as a process that the test talks to. */
function start(words: string[], env: Record<string, string | undefined>) {
  const [file = "", ...args] = words;
  const child = spawn(file, args, { env, stdio: "pipe" });
  const kubectl = {
    child,
    stdout: [] as Buffer[],
    stderr: "",
    text: () => Buffer.concat(kubectl.stdout).toString(),
    exited: once(child, "close").then(([code]) => code as number | null),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await kubectl.exited;
    },
  };
  child.stdin.on("error", () => {});
  child.stdout.on("data", (chunk) => kubectl.stdout.push(chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => kubectl.stderr += chunk);
  return kubectl;
}

function kubectl(...args: string[]) {
  const { words, env } = cluster.kubectlCommand(args);
  return start(words, env);
}

/** The command line of a process; empty if there is none. */
async function commandLine(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ");
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("kubectl logs reads and follows the log of an app", { skip }, async () => {
  await waitFor("two lines", async () => {
    const { stdout } = await cluster.kubectl(["logs", "web", "--tail=2"]);
    return /^tick \d+\ntick \d+\n$/.test(stdout);
  });
  assert.equal((await cluster.kubectl(["logs", "web", "--limit-bytes=3", "-c", "app"])).stdout, "tic");
  const previous = await cluster.kubectl(["logs", "-p", "web"], { allowFail: true });
  assert.deepEqual([previous.code, previous.stderr.replaceAll(/Defaulted container.*\n/g, "")], [
    1,
    "Error from server (BadRequest): the log of default/web has no run before the current or last one\n",
  ]);
  await using following = kubectl("logs", "-f", "--tail=1", "web");
  await waitFor("new lines", () => following.text().split("\n").length > 4);
});

test("kubectl exec passes on streams, environment, folder and exit code", { skip }, async () => {
  const failing = await cluster.kubectl(["exec", "web", "--", "sh", "-c", "exit 7"], { allowFail: true });
  assert.equal(failing.code, 7, failing.stderr);
  const { stdout, stderr } = await cluster.kubectl(
    ["exec", "web", "--", "sh", "-c", 'echo "$COLOUR $PWD"; echo problem >&2'],
  );
  assert.deepEqual([stdout, stderr.replaceAll(/Defaulted container.*\n/g, "")], [
    `blue ${temp.path}\n`,
    "problem\n",
  ]);
  const missing = await cluster.kubectl(["exec", "web", "--", "/no/such/program"], { allowFail: true });
  assert.equal(missing.code, 127);
  const wrong = await cluster.kubectl(["exec", "web", "-c", "other", "--", "true"], { allowFail: true });
  assert.notEqual(wrong.code, 0);
});

test("kubectl exec -i carries 5 MB each way, and the end of the input", { skip }, async () => {
  const bytes = randomBytes(5 << 20);
  await using cat = kubectl("exec", "-i", "web", "--", "cat");
  cat.child.stdin.end(bytes);
  assert.equal(await cat.exited, 0, cat.stderr);
  assert.equal(digest(Buffer.concat(cat.stdout)), digest(bytes));
});

test("kubectl exec ends with its client, and everything that it started", { skip }, async () => {
  await using sleeping = kubectl("exec", "web", "--", "sh", "-c", "sleep 987 & echo $!; wait");
  const pid = Number(await waitFor("the pid", () => /^\d+\n/.exec(sleeping.text())?.[0]));
  assert.match(await commandLine(pid), /sleep 987/);
  sleeping.child.kill("SIGKILL");
  await waitFor("the command has ended", async () => !(await commandLine(pid)).includes("sleep 987"));
});

test(
  "kubectl exec -it has a terminal that follows the size of the user's own",
  { skip: noScript },
  async () => {
    const { words, env } = cluster.kubectlCommand(["exec", "-it", "web", "--", "sh"]);
    const line = `stty rows 40 cols 100; tty >${temp.path}/outer; exec ${words.map(shellQuote).join(" ")}`;
    await using terminal = start(["script", "-qec", line, "/dev/null"], {
      ...env,
      SHELL: "/bin/sh",
      TERM: "xterm",
    });
    const type = (text: string) => terminal.child.stdin.write(`${text}\n`);
    await waitFor("a prompt", () => /[$#] $/.test(terminal.text()));
    // The answer, not the echo of the command, which has quotes in it.
    const sizes = (what: string, expected: string) =>
      waitFor(what, () => {
        if (terminal.text().includes(`size ${expected}`)) return true;
        type("echo 's'ize $(stty size)");
      });
    await sizes("the first size", "40 100");
    const outer = (await readFile(join(temp.path, "outer"), "utf8")).trim();
    const resized = spawn("stty", ["-F", outer, "rows", "33", "cols", "91"]);
    await once(resized, "exit");
    await sizes("the second size", "33 91");
    type("exit 5");
    assert.equal(await terminal.exited, 5);
  },
);

test("kubectl cp copies a file both ways", { skip }, async () => {
  const bytes = randomBytes(20 << 20);
  const [local, inside, back] = ["local", "inside", "back"].map((name) => join(temp.path, name));
  await writeFile(local!, bytes);
  await cluster.kubectl(["cp", local!, `default/web:${inside}`]);
  assert.equal(digest(await readFile(inside!)), digest(bytes));
  await cluster.kubectl(["cp", `default/web:${inside}`, back!]);
  assert.equal(digest(await readFile(back!)), digest(bytes));
});

test(
  "kubectl port-forward carries many requests, and reports a port that nobody serves",
  { skip },
  async () => {
    const server = createServer((call, response) => response.end(`answer to ${call.url}`)).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await using forwarding = kubectl("port-forward", "pod/web", `:${port}`, ":9");
    const local = (target: number) =>
      waitFor(
        "it forwards",
        () => new RegExp(`127.0.0.1:(\\d+) -> ${target}\\n`).exec(forwarding.text())?.[1],
      );
    const ask = async (to: string, path: string) => {
      const call = request({ host: "127.0.0.1", port: Number(to), path, agent: false }).end();
      const [response] = await once(call, "response");
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      return text;
    };
    const to = await local(port);
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => ask(to, `/${round}/${at}`)));
      assert.deepEqual(answers, Array.from({ length: 10 }, (_, at) => `answer to /${round}/${at}`));
    }
    await assert.rejects(ask(await local(9), "/"));
    await waitFor(
      "kubectl says why",
      () => /cannot connect to port 9 of this node: ECONNREFUSED/.test(forwarding.stderr),
    );
    server.close();
  },
);

test("who has the role edit is not root on the node: an app of root is entered only if it allows it", {
  skip: skip || (process.getuid?.() !== 0 && "the agent is not root"),
}, async () => {
  const listening = createServer((_, response) => response.end("served")).listen(0, "127.0.0.1");
  resources.defer(() => void listening.close());
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  // For a user other than root, in a folder that only root may enter.
  await chmod(temp.path, 0o755);
  const shellFile = join(temp.path, "sleeping.sh");
  await writeFile(shellFile, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
  const app = (name: string, spec: object) => ({
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: { name },
    spec: { shellFile, nodeName: "node-a", ...spec },
  });
  const apps = [app("rooted", { ports: [{ port }] }), app("plain", { runAsUser: 65_534 })];
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: apps });
  await cluster.kubectl(["apply", "-f", "-"], { input });
  // The role edit consists of these two, where there is a controller that joins them.
  for (const part of ["edit", "view"]) {
    const role = `--clusterrole=system:aggregate-to-${part}`;
    await cluster.kubectl(["create", "rolebinding", `editor-${part}`, role, "--user=viewer"]);
  }
  const token = cluster.tokenFor("viewer");
  const attempt = (...words: string[]) => cluster.kubectl(words, { token, allowFail: true });
  const entered = await waitFor("the editor enters the app of another user", async () => {
    const answer = await attempt("exec", "plain", "--", "id", "-u");
    return answer.code === 0 ? answer : undefined;
  }, 90_000);
  assert.equal(entered.stdout, "65534\n");
  const reason = /ncapp default\/rooted runs as root: .*set spec\.allowExec to true/;
  const isUp = ["get", "pod", "rooted", "-o", "jsonpath={.status.phase}"];
  await waitFor("the app of root runs", async () => (await cluster.kubectl(isUp)).stdout === "Running");
  for (
    const words of [
      ["exec", "rooted", "--", "id"],
      ["attach", "rooted"],
      ["cp", "default/rooted:/etc/shadow", join(temp.path, "shadow")],
    ]
  ) {
    const { code, stdout, stderr } = await attempt(...words);
    assert.notEqual(code, 0, words.join(" "));
    assert.match(stderr, reason, words.join(" "));
    assert.doesNotMatch(stdout, /uid=0/);
  }
  assert.equal(existsSync(join(temp.path, "shadow")), false);
  const forwarded = async (pod: string) => {
    await using kubectlForward = kubectl("port-forward", `pod/${pod}`, `:${port}`);
    const local = await waitFor("it forwards or fails", () => {
      if (kubectlForward.child.exitCode !== null) return "ended";
      return /127.0.0.1:(\d+) ->/.exec(kubectlForward.text())?.[1];
    });
    const answer = local === "ended" ? "" : await fetch(`http://127.0.0.1:${local}/`).then(
      (response) => response.text(),
      () => "",
    );
    if (answer === "") await waitFor("the reason", () => /spec\./.test(kubectlForward.stderr));
    return answer || kubectlForward.stderr;
  };
  assert.match(await forwarded("rooted"), reason);
  assert.match(await forwarded("plain"), /port \d+ is not a TCP port in spec\.ports of ncapp default\/plain/);
  const patch = (name: string, spec: object) =>
    cluster.kubectl(["patch", "ncapp", name, "--type=merge", "-p", JSON.stringify({ spec })]);
  await patch("plain", { ports: [{ port }] });
  await patch("rooted", { allowExec: true });
  await waitFor("a change of the spec counts", async () => {
    const answer = await attempt("exec", "rooted", "--", "id", "-u");
    return answer.stdout === "0\n";
  });
  await waitFor("its port is open", async () => await forwarded("plain") === "served");
  assert.equal(await forwarded("rooted"), "served");
});

test("kubectl attach shows what the app writes from now on", { skip }, async () => {
  const before = Number(/tick (\d+)/.exec((await cluster.kubectl(["logs", "web", "--tail=1"])).stdout)?.[1]);
  await using attached = kubectl("attach", "web", "-c", "app");
  await waitFor("new lines", () => attached.text().split("\n").length > 3);
  const [first] = attached.text().match(/\d+/) ?? [];
  assert.ok(Number(first) > before);
});

test("RBAC decides, path by path, who may use the kubelet API", { skip }, async () => {
  const bind = (name: string, role: string, user: string) =>
    cluster.kubectl(["create", "clusterrolebinding", name, `--clusterrole=${role}`, `--user=${user}`]);
  await cluster.kubectl(["create", "clusterrole", "node-metrics", "--verb=get", "--resource=nodes/metrics"]);
  await bind("metrics-reader", "node-metrics", "metrics-reader");
  await bind("viewer", "view", "viewer");
  const pairOf = async (name: string, groups: string[]): Promise<Sender> => {
    const { certFile, keyFile } = await cluster.certificateFor({ name, groups });
    return { cert: await readFile(certFile), key: await readFile(keyFile) };
  };
  const senders: Record<string, Sender> = {
    "the API server": await pairOf("kube-apiserver-kubelet-client", ["system:masters"]),
    "metrics reader": { token: cluster.tokenFor("metrics-reader") },
    "metrics reader by certificate": await pairOf("metrics-reader", []),
    viewer: { token: cluster.tokenFor("viewer") },
    "viewer by certificate": await pairOf("viewer", []),
    "another node's agent": { token: cluster.tokenFor(agentUser("node-b")) },
    "another node's agent by certificate": await pairOf(agentUser("node-b"), [agentGroup]),
    "the node's own agent": { token: cluster.tokenFor(agentUser("node-a")) },
    stranger: { token: cluster.tokenFor("stranger") },
    nobody: {},
    "a server's certificate": await serverPair(),
    "an unknown token": { token: "nobody-has-this-token" },
  };
  const paths: [method: string, path: string, served: number][] = [
    ["GET", "/healthz", 200],
    ["GET", "/pods", 200],
    ["GET", "/runningpods", 200],
    ["GET", "/stats/summary", 200],
    ["GET", "/metrics/resource", 200],
    ["GET", "/containerLogs/default/web/app", 200],
    // Allowed, but not asked for as a stream.
    ["POST", "/exec/default/web/app?command=id&output=1", 400],
    ["POST", "/attach/default/web/app?output=1", 400],
    ["POST", "/portForward/default/web", 400],
    ["POST", "/run/default/web/app?cmd=true", 200],
    ["GET", "/exec/default/web/app?command=id&output=1", 405],
    ["GET", "/nowhere", 404],
  ];
  const byCertificate = senders["metrics reader by certificate"]!;
  await waitFor(
    "RBAC has reached the API server's cache",
    async () => await statusFor("/metrics/resource", "GET", byCertificate) === 200,
    90_000,
  );
  for (const [method, path, served] of paths) {
    for (const [name, sender] of Object.entries(senders)) {
      const isUnknown = ["nobody", "an unknown token", "a server's certificate"].includes(name);
      const readsMetrics = name.startsWith("metrics reader") && path.startsWith("/metrics");
      const wanted = isUnknown ? 401 : name === "the API server" || readsMetrics ? served : 403;
      assert.equal(await statusFor(path, method, sender), wanted, `${method} ${path} from ${name}`);
    }
  }
});

interface Sender {
  token?: string;
  cert?: Buffer;
  key?: Buffer;
}

/** A certificate of the cluster's authority that is not meant for clients. */
async function serverPair(): Promise<Sender> {
  const authority = { certFile: cluster.caFile, keyFile: cluster.caFile.replace(/crt$/, "key") };
  const { certFile, keyFile } = await createServerCertificate(temp.path, "admin", authority, ["DNS:admin"]);
  return { cert: await readFile(certFile), key: await readFile(keyFile) };
}

/** Asks the node itself, without the API server in between. */
async function statusFor(path: string, method: string, { token, ...pair }: Sender): Promise<number> {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const options = { host: "127.0.0.1", port: kubeletPort, path, method, headers, ...pair };
  const call = secureRequest({ ...options, rejectUnauthorized: false, agent: false }).end();
  const [response] = await once(call, "response");
  response.destroy();
  return response.statusCode as number;
}

test(
  "the agent's own right to the client authority is the only one it has in kube-system",
  { skip },
  async () => {
    const can = async (...words: string[]) =>
      (await cluster.kubectl(["auth", "can-i", ...words, "-n", "kube-system"], {
        token: cluster.tokenFor(agentUser("node-a")),
        allowFail: true,
      })).stdout.trim();
    assert.equal(await can("get", "configmaps/extension-apiserver-authentication"), "yes");
    assert.equal(await can("get", "configmaps/other"), "no");
    assert.equal(await can("list", "configmaps"), "no");
  },
);

test(
  "off loopback, RBAC decides what users may read of the node, and the agent asks with its own rights",
  { skip },
  () => testTlsListener(cluster),
);

test("kubectl exec and cp end with an error when the agent is killed", { skip }, async () => {
  await using running = kubectl("exec", "web", "--", "sh", "-c", "echo up; exec sleep 600");
  await waitFor("the command runs", () => running.text() === "up\n");
  await using typing = kubectl("exec", "-i", "web", "--", "sh", "-c", "echo up; cat");
  await waitFor("the other runs", () => typing.text() === "up\n");
  await agent.kill("SIGKILL");
  for (const { exited, stderr } of [running, typing]) assert.equal(await exited, 1, stderr);
  assert.match(running.stderr, /the agent of the node ended before the command/);
});
