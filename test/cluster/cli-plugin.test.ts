/** `kubectl ncapp` as an admin uses it: the real kubectl finds the program on its PATH, and an agent runs the app. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { withControlPlane } from "../harness/control-plane.ts";
import { checkout, findControlPlane, skipUnless } from "../harness/parts.ts";
import { quote } from "../harness/shell-quote.ts";
import { ca, server as pair } from "../kube/access/certificates.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const deadlineMs = 60_000;

test("kubectl ncapp ps, top, logs, describe and restart work from an admin's machine", {
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
    await cluster.kubectl(["apply", "-f", "crd/"]);
    await cluster.kubectl(["wait", "--for=condition=established", "crd/ncapps.app.example.com"]);
    await create(cluster, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-a" },
      status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }] },
    });
    const shellFile = await file("web.sh", "#!/bin/sh\necho begun\nexec sleep 600\n", 0o755);
    await create(cluster, {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name: "web", namespace: "default" },
      spec: { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1 },
    });
    await using agent = await startAgentProcess([
      ...["--kubeconfig", await cluster.kubeconfigFor("nckubelet:node-a")],
      ...["--node-name", "node-a", "--register-node", "never", "--listen", "127.0.0.1:0,0.0.0.0:0"],
      ...["--tls-cert-file", await file("tls.crt", pair.cert)],
      ...["--tls-private-key-file", await file("tls.key", pair.key)],
    ]);
    const port = /serving address=https:\/\/0\.0\.0\.0:(\d+)/.exec(agent.log())?.[1];
    const endpoint = ["--agent", `:${port}`, "--agent-ca", await file("ca.crt", ca)];
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, KUBECONFIG: cluster.kubeconfig };
    const ncapp = (...words: string[]) => kubectl(["ncapp", ...words], env);

    await waitFor("the app runs", async () =>
      /web +node-a +Running +True/.test((await ncapp("ps")).stdout), deadlineMs);
    assert.match((await ncapp("top", "-A")).stdout, /^default\/web +node-a +Running/m);
    assert.deepEqual(await ncapp("logs", "web", ...endpoint), { code: 0, stdout: "begun\n", stderr: "" });

    const following = spawn(program(), ["ncapp", "logs", "-f", "web", ...endpoint], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let followed = "";
    following.stdout.setEncoding("utf8").on("data", (text) =>
      followed += text);
    await waitFor("the log so far", () =>
      followed === "begun\n", deadlineMs);
    assert.deepEqual(await ncapp("restart", "web"), {
      code: 0,
      stdout: "default/web is being restarted\n",
      stderr: "",
    });
    await waitFor("the log of the next run", () => followed === "begun\nbegun\n", deadlineMs);
    const ended = once(following, "exit");
    following.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    assert.equal((await ncapp("logs", "--tail", "1", "web", ...endpoint)).stdout, "begun\n");

    await waitFor("its events", async () => {
      const { stdout } = await ncapp("describe", "web");
      return /^Node: +node-a$/m.test(stdout) && /Events:[^]*Normal +Started/.test(stdout);
    }, deadlineMs);

    const weak = ["--token-file", await file("token", cluster.tokenFor("stranger"))];
    assert.match(
      (await ncapp("logs", "web", ...endpoint, ...weak)).stderr,
      /refused: the token may not get nodes\/proxy/,
    );
    assert.match(
      (await ncapp("logs", "wbe", ...endpoint)).stderr,
      /no NCApp default\/wbe; did you mean web\?/,
    );
  }));

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
