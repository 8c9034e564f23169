import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentUser } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowMirrors, crdFolder, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const skip = skipUnless("control-plane");
let cluster: Cluster;
const temp = tempFolder();
const scripts = temp.path;
/** The credentials of an agent under the shipped roles, not of an admin. */
let kubeconfig = "";

before(async () => {
  if (skip) return;
  cluster = await startControlPlane();
  await installCRD(cluster);
  kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
});

after(async () => {
  await cluster?.stop();
  temp.remove();
});

async function script(name: string, text: string): Promise<string> {
  const path = join(scripts, name);
  await writeFile(path, text, { mode: 0o755 });
  return path;
}

async function apply(name: string, spec: object): Promise<void> {
  await cluster.apply(manifest(name, spec));
}

async function get(name: string): Promise<NCApp> {
  return await cluster.get<NCApp>(ncappPath("default", name));
}

async function reach(name: string, what: string, isThere: (app: NCApp) => boolean): Promise<NCApp> {
  return await waitFor(`${name}: ${what}`, async () => {
    const app = await get(name);
    return isThere(app) ? app : undefined;
  });
}

const isAlive = (pid: number) =>
  readFile(`/proc/${pid}/stat`, "utf8").then((stat) => !stat.includes(") Z "), () => false);

test(
  "an NCApp bound to the node runs, reports its usage, and ends with all its processes when it is deleted",
  { skip },
  async () => {
    await using _agent = await startAgentProcess([
      ...["--kubeconfig", kubeconfig, "--node-name", "node-a", "--report-period", "1s"],
    ]);
    const shellFile = await script("tree.sh", "#!/bin/sh\n(setsid sleep 600 &)\necho up\nexec sleep 600\n");
    await apply("tree", { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 5 });
    const { status } = await reach(
      "tree",
      "Running with usage",
      (app) => app.status?.phase === "Running" && app.status.cpuPCT !== undefined,
    );
    assert.equal(status?.ready, true);
    assert.match(status?.cpuPCT ?? "", /^\d+\.\d$/);
    assert.ok(await isAlive(status!.pid!));
    assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");

    const columns = (await cluster.kubectl(["get", "ncapp", "tree"])).stdout;
    assert.match(columns, /^NAME +NODE +PHASE +READY +CPU +MEM +RESTARTS +AGE/);
    assert.match(columns, /^tree +node-a +Running +true/m);
    const described = await waitFor("the event is there", async () => {
      const { stdout } = await cluster.kubectl(["describe", "ncapp", "tree"]);
      return stdout.includes("Started") ? stdout : undefined;
    });
    assert.match(described, /Normal +Started .* nckubelet.* Started \S+tree.sh as process/);

    await cluster.kubectl(["delete", "ncapp", "tree"]);
    await waitFor("its process is gone", async () => !await isAlive(status!.pid!));
  },
);

test("the agent leaves an NCApp alone that is bound to another node", { skip }, async () => {
  await using agent = await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]);
  const shellFile = await script("other.sh", "#!/bin/sh\nsleep 600\n");
  await apply("elsewhere", { shellFile, nodeName: "node-b" });
  await apply("here", { shellFile, nodeName: "node-a" });
  await reach("here", "Running", (app) => app.status?.phase === "Running");
  const apps = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
  assert.deepEqual(apps.items.map(({ metadata }) => metadata.name), ["here"]);
  assert.deepEqual((await get("elsewhere")).status, { observedGeneration: -1 }, "no one has seen it");
  await cluster.kubectl(["delete", "ncapp", "elsewhere", "here"]);
});

test("the sample without a script is pending, and its status explains why", { skip }, async () => {
  await using _agent = await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]);
  await apply("test-ncapp1", { shellFile: "", cpuPCT: "", memPCT: "", nodeName: "node-a" });
  const { status } = await reach("test-ncapp1", "seen", (app) => app.status?.reason !== undefined);
  assert.deepEqual([status?.phase, status?.reason], ["Pending", "NoShellFile"]);
  await cluster.kubectl(["delete", "ncapp", "test-ncapp1"]);
});

test(
  "an agent that is killed and restarted keeps the process, even if the API server stops meanwhile",
  { skip },
  async () => {
    await using agent = await startAgentProcess([
      "--kubeconfig",
      kubeconfig,
      "--node-name",
      "node-a",
    ]);
    const shellFile = await script("steady.sh", "#!/bin/sh\nsleep 600\n");
    await apply("steady", { shellFile, nodeName: "node-a" });
    const { status } = await reach("steady", "Running", (app) => app.status?.phase === "Running");
    await agent.kill();
    await cluster.apiServer.kill("SIGKILL");
    await agent.start();
    await waitFor(
      "readyz says that the API server is missing",
      async () => (await fetch(`${agent.url}/readyz`)).status === 503,
    );
    const offline = await (await fetch(`${agent.url}/apps/default/steady`)).json() as NCApp;
    assert.deepEqual([offline.status?.phase, offline.status?.pid], ["Running", status?.pid]);
    await cluster.apiServer.start();
    await waitFor(
      "the agent is ready again",
      async () => (await fetch(`${agent.url}/readyz`)).status === 200,
      60_000,
    );
    assert.equal((await get("steady")).status?.restarts, 0);
    assert.ok(await isAlive(status!.pid!));
    await cluster.kubectl(["delete", "ncapp", "steady"]);
    await waitFor("its process is gone", async () => !await isAlive(status!.pid!));
  },
);

const appsOf = async ({ url }: { url: string }) => await (await fetch(`${url}/apps`)).text();
const readyz = async ({ url }: { url: string }) => await (await fetch(`${url}/readyz?verbose`)).text();

test("an agent under another name stops none of its apps until that is accepted", { skip }, async () => {
  const flags = ["--kubeconfig", kubeconfig, "--node-name", "node-a"];
  await using agent = await startAgentProcess(flags);
  const shellFile = await script("kept.sh", "#!/bin/sh\nsleep 600\n");
  await apply("kept", { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1 });
  const { status } = await reach("kept", "Running", (app) => app.status?.phase === "Running");
  await agent.kill();
  flags.splice(3, 1, "node-b");
  await agent.start();
  const why = /belongs to node node-a, and its node name is now node-b/;
  await waitFor("/readyz says so", async () => why.test(await readyz(agent)));
  assert.match((await agent.command("doctor", "--socket", agent.socket)).stdout, why);
  assert.match(agent.log(), why);
  assert.ok(await isAlive(status!.pid!));
  const names = (await cluster.kubectl(["get", "node,lease", "-A", "-o", "name"])).stdout;
  assert.doesNotMatch(names, /node-b/);
  await agent.kill();
  flags.push("--accept-node-name-change");
  await agent.start();
  await waitFor("its process is gone", async () => !await isAlive(status!.pid!));
  await cluster.kubectl(["delete", "ncapp", "kept"]);
});

test(
  "of two agents with one node name, the second takes no apps while the first runs",
  { skip },
  async () => {
    const flags = ["--kubeconfig", kubeconfig, "--node-name", "node-a"];
    const shellFile = await script("once.sh", "#!/bin/sh\nsleep 600\n");
    await apply("once", { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1 });
    await using second = await (async () => {
      await using _first = await startAgentProcess(flags);
      const { status } = await reach("once", "Running", (app) => app.status?.phase === "Running");
      const second = await startAgentProcess(flags);
      const why = /two machines have the node name node-a/;
      await waitFor("/readyz says so", async () => why.test(await readyz(second)));
      assert.doesNotMatch(await appsOf(second), /once/);
      assert.equal((await get("once")).status?.pid, status?.pid);
      return second;
    })();
    await waitFor("the second takes over", async () => (await appsOf(second)).includes("once"));
    await cluster.kubectl(["delete", "ncapp", "once"]);
  },
);

test("a mirror shows a local app, and neither starts nor stops it; a copy of it runs as an app of its own", {
  skip,
}, async () => {
  await allowMirrors(cluster);
  using temp = tempFolder();
  const manifests = temp.path;
  const shellFile = await script("local.sh", "#!/bin/sh\nsleep 600\n");
  const app = manifest("local", { shellFile });
  await writeFile(join(manifests, "local.json"), JSON.stringify(app));
  const flags = [
    "--kubeconfig",
    kubeconfig,
    "--node-name",
    "node-a",
    "--manifests",
    manifests,
    "--sync-period",
    "1s",
  ];
  await using agent = await startAgentProcess(flags);
  const isThere = async (name: string) => await cluster.find(ncappPath("default", name)) !== undefined;
  await waitFor("the mirror is there", () => isThere("local"));
  const { status, metadata } = await reach(
    "local",
    "Running in its mirror",
    (app) => app.status?.phase === "Running",
  );
  assert.match(metadata.annotations?.["app.example.com/config.mirror"] ?? "", /^node-a/);

  // As `kubectl get -o yaml | kubectl apply` does.
  const { spec, metadata: { annotations } } = await reach(
    "local",
    "proven",
    ({ metadata }) => metadata.annotations?.["app.example.com/config.mirror-uid"] !== undefined,
  );
  const copied = { ...app, metadata: { name: "copy", annotations }, spec };
  await cluster.apply(copied);
  const copy = await reach("copy", "Running", ({ status }) => status?.phase === "Running");

  await cluster.kubectl(["delete", "ncapp", "local"]);
  await waitFor("the mirror is back", () => isThere("local"));
  assert.ok(await isAlive(status!.pid!), "deleting the mirror does not stop the app");
  const apps = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
  assert.deepEqual(apps.items.map(({ metadata }) => metadata.name).sort(), ["copy", "local"]);

  await rm(join(manifests, "local.json"));
  await waitFor("the mirror goes with the app", async () => !await isThere("local"), 60_000);
  assert.equal(await isAlive(status!.pid!), false);
  assert.ok(await isAlive(copy.status!.pid!), "the copy stays when the mirror is deleted");
  await cluster.kubectl(["delete", "ncapp", "copy"]);
});

test(
  "a name that is quickly deleted and recreated 200 times runs at most once per uid, and only the last stays",
  { skip },
  async (t) => {
    await using agent = await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]);
    const ran = join(scripts, "ran");
    const shellFile = await script("again.sh", `#!/bin/sh\necho $NCAPP_UID $$ >>${ran}\nexec sleep 600\n`);
    const path = ncappPath("default");
    const app = manifest("again", { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 1 });
    for (let round = 0; round < 200; round++) {
      if (round > 0) await cluster.request(`${path}/again`, { method: "DELETE" });
      assert.equal((await cluster.request(path, { method: "POST", body: app })).status, 201);
    }
    const { metadata } = await reach("again", "Running", ({ status }) => status?.phase === "Running");
    // It is Running before its script has written its line.
    const runs = await waitFor("the last one is in the list", async () => {
      const lines = (await readFile(ran, "utf8")).trim().split("\n").map((line) => line.split(" "));
      return lines.some(([uid]) => uid === metadata.uid) && lines;
    });
    assert.equal(new Set(runs.map(([uid]) => uid)).size, runs.length, "no uid ran twice");
    assert.equal(runs.at(-1)?.[0], metadata.uid);
    const living = [];
    for (const [uid = "", pid] of runs) {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      if (environment.includes(uid)) living.push(uid);
    }
    assert.deepEqual(living, [metadata.uid], "none is left over");
    t.diagnostic(`${runs.length} of the 200 came to run`);
    const apps = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
    assert.deepEqual(apps.items.map(({ metadata }) => metadata.uid), [metadata.uid]);
    await cluster.kubectl(["delete", "ncapp", "again"]);
  },
);

test(
  "an app that is unbound, or bound to another node, ends here; of the latter the agent writes only that it let it go",
  { skip },
  async () => {
    await using agent = await startAgentProcess([
      ...["--kubeconfig", kubeconfig, "--node-name", "node-a", "--report-period", "1s"],
    ]);
    // It ends slowly, so that the former agent would have something to report.
    const shellFile = await script(
      "leaving.sh",
      "#!/bin/sh\ntrap 'sleep 0.5; exit 3' TERM\nwhile :; do sleep 0.1; done\n",
    );
    const path = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps/leaving";
    const bind = async (nodeName: string | null): Promise<NCApp> => {
      const contentType = "application/merge-patch+json";
      const answer = await cluster.request(path, {
        method: "PATCH",
        contentType,
        body: { spec: { nodeName } },
      });
      return JSON.parse(answer.body);
    };
    const start = async () => {
      await bind("node-a");
      const ready = ({ status }: NCApp) => status?.phase === "Running" && status.memoryBytes !== undefined;
      return await reach("leaving", "Running with usage", ready);
    };
    const letGo = async (left: NCApp, pid: number) => {
      await waitFor("its process is gone", async () => !await isAlive(pid));
      await waitFor(
        "the agent forgets it",
        async () => (await fetch(`${agent.url}/apps/default/leaving`)).status === 404,
      );
      // An agent that stops sends its pending reports first.
      await agent.kill("SIGTERM");
      const { spec, status }: NCApp = JSON.parse((await cluster.request(path)).body);
      const { phase, reason, ready, nodeName } = status!;
      if (spec.nodeName) assert.deepEqual(status, { ...left.status, nodeName: "" });
      else assert.deepEqual([phase, reason, ready, nodeName], ["Pending", "Unbound", false, ""]);
      await agent.start();
    };
    await apply("leaving", { shellFile });
    for (const nodeName of [null, "node-b"]) {
      const { status } = await start();
      await letGo(await bind(nodeName), status!.pid!);
    }
    // The agent sees the deletions only after all of them.
    const { status } = await start();
    await agent.kill();
    const left = await bind("node-b");
    await agent.start();
    await letGo(left, status!.pid!);
    await cluster.kubectl(["delete", "ncapp", "leaving"]);
  },
);

test("a valid empty list stops the apps that went with the CRD; without the CRD nothing more happens", {
  skip,
}, async () => {
  await using agent = await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]);
  await apply("crd-app", {
    shellFile: await script("crd.sh", "#!/bin/sh\nexec sleep 600\n"),
    nodeName: "node-a",
  });
  const { status } = await reach("crd-app", "Running", ({ status }) => status?.phase === "Running");
  await cluster.kubectl(["delete", "-f", join(crdFolder(cluster), "ncapp.yaml")]);
  await waitFor("its process is gone", async () => !await isAlive(status!.pid!));
  await waitFor(
    "readyz names the missing CRD",
    async () => (await (await fetch(`${agent.url}/readyz`)).text()).includes("CRD"),
    60_000,
  );
  await installCRD(cluster);
  await apply("crd-app", { shellFile: join(scripts, "crd.sh"), nodeName: "node-a" });
  await reach("crd-app", "Running again", ({ status }) => status?.phase === "Running");
  await cluster.kubectl(["delete", "ncapp", "crd-app"]);
});
