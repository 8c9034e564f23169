/** `kubectl ncapp` as an admin uses it: the real kubectl finds the program on its PATH, and an agent runs the app. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { withControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { checkout, findControlPlane, skipUnless } from "../harness/parts.ts";
import { quote } from "../harness/shell-quote.ts";
import { server as pair } from "../kube/access/certificates.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const deadlineMs = 60_000;

test("kubectl ncapp ps, top, logs, describe, restart and drain work from an admin's machine", {
  skip: skipUnless("control-plane"),
}, () =>
  withControlPlane(async (cluster) => {
    using temp = tempFolder();
    const folder = temp.path;
    const file = async (name: string, text: string, mode = 0o600) => {
      await writeFile(join(folder, name), text, { mode });
      return join(folder, name);
    };
    await installPlugin(folder);
    await installCRD(cluster);
    await using kubelet = await startFakeKubelet(
      await file("tls.key", pair.key),
      await file("tls.crt", pair.cert),
    );
    await create(cluster, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-a" },
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
      },
    });
    const shellFile = await file("web.sh", "#!/bin/sh\nexec sleep 600\n", 0o755);
    await create(
      cluster,
      manifest("web", { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1 }),
    );
    await using _agent = await startAgentProcess([
      ...["--kubeconfig", await cluster.kubeconfigFor("nckubelet:node-a")],
      ...["--node-name", "node-a", "--register-node", "never"],
    ]);
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, KUBECONFIG: cluster.kubeconfig };
    const ncapp = (...words: string[]) => kubectl(["ncapp", ...words], env);

    await waitFor(
      "the app runs",
      async () => /web +node-a +Running +True/.test((await ncapp("ps")).stdout),
      deadlineMs,
    );
    assert.match((await ncapp("top", "-A")).stdout, /^default\/web +node-a +Running/m);
    assert.match((await ncapp("logs", "web")).stderr, /default\/web has no Pod/);
    await createPod(cluster);
    assert.deepEqual(await ncapp("logs", "web"), { code: 0, stdout: "begun\n", stderr: "" });
    await ncapp("logs", "--tail", "1", "--since", "5m", "--timestamps", "--limit-bytes", "9", "web");
    assert.deepEqual(kubelet.asked, [
      "/containerLogs/default/web-pod/app?",
      "/containerLogs/default/web-pod/app?limitBytes=9&sinceSeconds=300&tailLines=1&timestamps=true",
    ]);

    const following = spawn(program(), ["ncapp", "logs", "-f", "web"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let followed = "";
    following.stdout.setEncoding("utf8").on("data", (text) => followed += text);
    await waitFor("the log so far", () => followed === "begun\n", deadlineMs);
    assert.deepEqual(await ncapp("restart", "web"), {
      code: 0,
      stdout: "default/web is being restarted\n",
      stderr: "",
    });
    kubelet.say("begun again\n");
    await waitFor("the rest of the log", () => followed === "begun\nbegun again\n", deadlineMs);
    const ended = once(following, "exit");
    following.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);

    await waitFor("its events", async () => {
      const { stdout } = await ncapp("describe", "web");
      return /^Node: +node-a$/m.test(stdout) && /Events:[^]*Normal +Started/.test(stdout);
    }, deadlineMs);

    assert.match(
      (await ncapp("logs", "wbe")).stderr,
      /no NCApp default\/wbe; did you mean web\?/,
    );

    const refused = await ncapp("drain", "node-a");
    assert.deepEqual([refused.code, refused.stdout], [1, "node/node-a cordoned\n"]);
    assert.match(refused.stderr, /default\/web \(spec.nodeName was set by kubectl[^)]*\); use --force/);
    const { stdout: found } = await cluster.kubectl(["get", "ncapp", "web", "-o", "jsonpath={.status.pid}"]);
    const pid = Number(found);
    const isAlive = () => existsSync(`/proc/${pid}`);
    assert.ok(isAlive(), `process ${pid}`);
    const drained = await ncapp("drain", "node-a", "--force", "--timeout", "60s");
    assert.equal(isAlive(), false, "it ends only when the process has ended");
    assert.deepEqual([drained.code, drained.stderr, drained.stdout.split("\n")], [0, "", [
      "node/node-a already cordoned",
      "evicting ncapp default/web",
      "ncapp default/web evicted",
      "node/node-a drained",
      "",
    ]]);
  }));

test(
  "an edit that fails goes back on its node, also under a new agent, and kubectl ncapp rollout shows and undoes versions",
  {
    skip: skipUnless("control-plane"),
  },
  () =>
    withControlPlane(async (cluster) => {
      using temp = tempFolder();
      const folder = temp.path;
      await installPlugin(folder);
      await installCRD(cluster);
      await create(cluster, { apiVersion: "v1", kind: "Node", metadata: { name: "node-a" } });
      const shellFile = join(folder, "web.sh");
      await writeFile(shellFile, '#!/bin/sh\necho "runs $1"\n[ "$1" != bad ] && exec sleep 600\n', {
        mode: 0o755,
      });
      const update = { minReadySeconds: 1, progressDeadlineSeconds: 60, onFailure: "Rollback" } as const;
      const spec = { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1, update, args: ["one"] };
      await create(cluster, manifest("web", spec));
      await using agent = await startAgentProcess([
        ...["--kubeconfig", await cluster.kubeconfigFor("nckubelet:node-a")],
        ...["--node-name", "node-a", "--register-node", "never"],
      ]);
      const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, KUBECONFIG: cluster.kubeconfig };
      const ncapp = (...words: string[]) => kubectl(["ncapp", ...words], env);
      const edit = (word: string) =>
        cluster.kubectl([
          "patch",
          "ncapp",
          "web",
          "--type=merge",
          "-p",
          JSON.stringify({ spec: { args: [word] } }),
        ]);
      const states = async () => {
        const { stdout } = await ncapp("rollout", "history", "web");
        return stdout.split("\n").slice(1).map((line) => line.split(/ +/)[1]).join(" ").trim();
      };
      const reach = (wanted: string) =>
        waitFor(`versions ${wanted}`, async () => await states() === wanted, deadlineMs);
      const argument = async () => {
        const { stdout } = await cluster.kubectl(["get", "ncapp", "web", "-o", "jsonpath={.status.pid}"]);
        const words = await readFile(`/proc/${stdout}/environ`, "utf8").catch(() => "");
        return words
          ? (await agent.command("logs", "--tail", "1", "web", "--socket", agent.socket)).stdout
          : "";
      };

      await reach("Good");
      await edit("bad");
      await reach("Good Refused");
      await cluster.kubectl(["wait", "ncapp", "web", "--for=condition=RolledBack", "--timeout=60s"]);
      await cluster.kubectl(["wait", "ncapp", "web", "--for=condition=Ready", "--timeout=60s"]);
      assert.equal(await argument(), "runs one\n");
      const { stdout: described } = await ncapp("describe", "web");
      assert.match(
        described,
        /RolledBack +True +Error .*failed: Ended with status 1: Error; back to version/,
      );
      await agent.kill();
      await agent.start();
      await waitFor("the new agent reports", async () => (await states()) === "Good Refused", deadlineMs);
      assert.match(
        (await agent.command("logs", "web", "--socket", agent.socket)).stdout,
        /^runs one\nruns bad\nruns one\n$/,
      );

      await edit("two");
      await reach("Good Previous");
      const { code, stdout, stderr } = await ncapp("rollout", "undo", "web");
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^default\/web goes back to version \w+-\w+\n$/);
      await reach("Good Previous Refused");
      await waitFor("the first version runs", async () => await argument() === "runs one\n", deadlineMs);
    }),
);

interface FakeKubelet extends AsyncDisposable {
  port: number;
  /** The logs that the API server asked for. */
  asked: string[];
  /** Adds to the logs that are followed. */
  say(text: string): void;
}

/** What the API server connects to for the logs of a node. */
async function startFakeKubelet(keyFile: string, certFile: string): Promise<FakeKubelet> {
  const asked: string[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer(
    { key: await readFile(keyFile), cert: await readFile(certFile) },
    (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, "https://kubelet");
      const follow = searchParams.get("follow") === "true";
      searchParams.sort();
      if (!follow) asked.push(`${pathname}?${searchParams}`);
      response.writeHead(200, { "content-type": "text/plain" });
      response.write("begun\n");
      if (follow) open.add(response);
      else response.end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    say: (text) => open.forEach((response) => void response.write(text)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The Pod that an agent would make for the app on a Node that it registered; its name is taken by another. */
async function createPod(cluster: Cluster): Promise<void> {
  const { stdout: uid } = await cluster.kubectl(["get", "ncapp", "web", "-o", "jsonpath={.metadata.uid}"]);
  await create(cluster, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-pod",
      namespace: "default",
      annotations: { "kubernetes.io/config.mirror": "0" },
      ownerReferences: [{ apiVersion: "app.example.com/v1alpha1", kind: "NCApp", name: "web", uid }],
    },
    spec: { nodeName: "node-a", containers: [{ name: "app", image: "nckubelet/script" }] },
  });
}

/** Installs the tested executable, or the source, under the name of a kubectl plugin. */
async function installPlugin(folder: string): Promise<void> {
  const path = join(folder, "kubectl-ncapp");
  if (process.env.NCKUBELET_BIN) return await symlink(process.env.NCKUBELET_BIN, path);
  const words = [process.execPath, join(checkout, "src/main.ts")].map(quote).join(" ");
  await writeFile(path, `#!/bin/bash\nexec -a kubectl-ncapp ${words} "$@"\n`, { mode: 0o755 });
}

function program(): string {
  const found = findControlPlane();
  if ("missing" in found) throw new Error(found.missing);
  return found.kubectl;
}

function kubectl(words: string[], env: Record<string, string>) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(program(), words, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function create(cluster: Cluster, object: object): Promise<void> {
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
}
