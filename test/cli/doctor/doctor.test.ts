import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { buildCRD, buildRBAC } from "../../../src/api/install/install.ts";
import { agentPermissions } from "../../../src/cli/agent-rights/agent-rights.ts";
import { checkCluster } from "../../../src/cli/doctor/check-cluster.ts";
import {
  checkAgent,
  checkCgroups,
  checkDisk,
  checkTools,
  type Finding,
} from "../../../src/cli/doctor/check-node.ts";
import type { AgentStatus } from "../../../src/cli/agent-api/agent-api.ts";
import { version } from "../../../src/lib/version.ts";
import { type Answer, json, refuse, withServer } from "../../kube/fake-server.ts";
import { tempFolder } from "../../temp-folder.ts";
import { call } from "../call.ts";

/** An API server that allows everything, or what `allows` returns. */
function cluster(
  { allows = () => true, crd = buildCRD(), minor = "34", ahead = 0 }: {
    allows?: (attributes: { verb: string; resource: string }) => boolean;
    crd?: object | "missing" | "secret";
    minor?: string;
    ahead?: number;
  } = {},
): Answer {
  return ({ path, body }, response) => {
    const headers = { date: new Date(Date.now() + ahead).toUTCString() };
    if (path === "/version") return json(response, { gitVersion: `v1.${minor}.1`, minor }, 200, headers);
    if (path.endsWith("/selfsubjectaccessreviews")) {
      const allowed = allows(JSON.parse(body).spec.resourceAttributes);
      return json(response, { status: { allowed } }, 201, headers);
    }
    if (path.endsWith("/ncapps") && crd !== "missing") return json(response, { items: [] }, 200, headers);
    if (path.endsWith("/ncapps.app.example.com")) {
      if (typeof crd === "object") return json(response, crd, 200, headers);
      if (crd === "secret") return refuse(response, 403, "Forbidden", "no", headers);
    }
    refuse(response, 404, "NotFound", "the server could not find the requested resource", headers);
  };
}

const check = (answer: Answer) => withServer(answer, ({ url }) => checkCluster({ server: url, env: {} }));
const line = ({ level, check, message }: Finding) => `${level} ${check}: ${message}`;

test("a cluster with everything installed passes all checks", async () => {
  const findings = await check(cluster());
  assert.deepEqual(findings.map(({ check, level }) => [check, level]), [
    ["api server", "ok"],
    ["crd", "ok"],
    ["rbac", "ok"],
    ["clock", "ok"],
  ]);
  assert.match(findings[0]!.message, /^v1\.34\.1 at http:\/\/127/);
});

test("each thing that a cluster lacks is reported with how to fix it", async () => {
  const allows = ({ verb, resource }: { verb: string; resource: string }) =>
    verb !== "patch" || resource !== "nodes";
  const findings = (await check(cluster({ allows, crd: "missing", ahead: 60_000 }))).map(line);
  assert.match(findings[1]!, /^problem crd: .*not installed: nckubelet manifests \| kubectl apply -f -$/);
  assert.match(findings[2]!, /^problem rbac: may not patch nodes, patch nodes\/status: .*nckubelet:agents/);
  assert.match(findings[3]!, /^problem clock: (59|60) s behind the API server's: set it/);
});

test("a CRD that is older, or that cannot select by node, is reported with its cost and the command that fixes it", async () => {
  const crdLine = async (...options: Parameters<typeof cluster>) =>
    line((await check(cluster(...options)))[1]!);
  const cost = "every agent lists and watches every NCApp of the cluster";
  const fix = "nckubelet manifests | kubectl apply -f -";
  const installed = "ncapps.app.example.com is installed";
  assert.equal(await crdLine(), `ok crd: ${installed} and up to date`);
  const legacy = buildCRD({ legacy: true });
  assert.equal(
    await crdLine({ crd: legacy }),
    `warning crd: it cannot select NCApps by node, so ${cost}: ${fix}`,
  );
  assert.equal(
    await crdLine({ crd: legacy, minor: "30" }),
    `ok crd: ${installed} and up to date; API servers before 1.31 cannot select NCApps by node: ${cost}`,
  );
  const old = JSON.parse(JSON.stringify(legacy).replace('"pidsMax":', '"pids":'));
  const unknown = "it is older than this program, and the API server does not store spec.pidsMax";
  assert.equal(await crdLine({ crd: old, minor: "30" }), `warning crd: ${unknown}: ${fix}`);
  assert.match(
    await crdLine({ crd: {} }),
    /^warning crd: .* store spec, status; it cannot select NCApps by node/,
  );
  assert.match(
    await crdLine({ crd: "secret" }),
    /^warning crd: .* not compared: you may not read it; see rbac$/,
  );
});

test("a server that does not answer, or a missing kubeconfig, ends the checks of the cluster", async () => {
  const gone = await checkCluster({ server: "http://127.0.0.1:1", env: {} });
  assert.match(gone.map(line).join(), /^problem api server: .*ECONNREFUSED.*check the address, the network/);
  const none = await checkCluster({ kubeconfig: "/none/kubeconfig", env: {} });
  assert.match(
    none.map(line).join(),
    /cannot read kubeconfig \/none\/kubeconfig: no such file; use --standalone to run without one$/,
  );
});

test("a credential of another node is a problem, whatever it may do", async () => {
  const identity = async (username: string, nodeName = "edge-7") => {
    const answer: Answer = (request, response, index) =>
      request.path.endsWith("/selfsubjectreviews")
        ? json(response, { status: { userInfo: { username } } }, 201)
        : cluster()(request, response, index);
    const findings = await withServer(answer, ({ url }) => checkCluster({ server: url, nodeName, env: {} }));
    return findings.filter(({ check }) => check === "identity").map(line);
  };
  assert.deepEqual(await identity("nckubelet:edge-8"), [
    "problem identity: the credential is that of node edge-8 (user nckubelet:edge-8), and this node is edge-7: use the " +
    "credential of edge-7, or set node-name to edge-8",
  ]);
  assert.match(
    (await identity("system:serviceaccount:nckubelet-agents:edge-8")).join(),
    /that of node edge-8/,
  );
  for (const user of ["nckubelet:edge-7", "system:serviceaccount:nckubelet-agents:edge-7", "admin"]) {
    assert.deepEqual(await identity(user), [], user);
  }
});

test("the installed roles grant every permission that is checked", () => {
  type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };
  const rules = buildRBAC().flatMap((object) => (object as { rules?: Rule[] }).rules ?? []);
  for (const { verb, group, resource, subresource } of agentPermissions) {
    const full = subresource ? `${resource}/${subresource}` : resource;
    const granted = rules.some(({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(full) && verbs.includes(verb)
    );
    assert.ok(granted, `${verb} ${full}`);
  }
});

test("every permission of the role for agents is checked, except to read a single app", () => {
  type Role = {
    kind: string;
    metadata: { name: string };
    rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  };
  const role = (buildRBAC() as Role[]).find(({ kind, metadata }) =>
    kind === "ClusterRole" && metadata.name === "nckubelet-agent"
  )!;
  const granted = role.rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} ${group}`))
    )
  );
  const checked = agentPermissions.map(({ verb, group, resource, subresource }) =>
    `${verb} ${subresource ? `${resource}/${subresource}` : resource} ${group}`
  );
  assert.deepEqual(granted.filter((right) => !checked.includes(right)), ["get ncapps app.example.com"]);
});

test("the checks of the node find its cgroups, programs and disks", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const cgroup = join(folder, "cgroup");
  await mkdir(join(folder, "proc/self"), { recursive: true });
  await mkdir(cgroup);
  const procRoot = join(folder, "proc");
  const mount = (type: string) => `30 1 0:26 / ${cgroup} rw - ${type} none rw\n`;
  const checkWith = async (mountinfo: string, controllers: string) => {
    await writeFile(join(procRoot, "self/mountinfo"), mountinfo);
    await writeFile(join(cgroup, "cgroup.controllers"), controllers);
    await writeFile(join(cgroup, "cgroup.subtree_control"), "");
    return (await checkCgroups({}, { procRoot, sysRoot: cgroup, uid: 0 })).map(line).join();
  };
  assert.equal(
    await checkWith(mount("cgroup2"), "cpu io memory pids\n"),
    `ok cgroup v2: ${cgroup} offers cpu, memory, pids`,
  );
  assert.match(await checkWith(mount("cgroup2"), "cpu pids\n"), /^problem cgroup v2: .*memory/);
  assert.match(await checkWith(mount("cgroup"), ""), /^problem cgroup v2: only cgroup v1 is mounted/);
  assert.match(
    (await checkTools(folder, false)).map(line).join(),
    /^problem programs: this program was built without a launcher for \w+, so no app can start/,
  );
  assert.match((await checkTools(folder, true)).map(line).join(), /^problem programs: sh not found/);
  const disk = await checkDisk({ stateDir: join(folder, "not/yet"), logDir: folder });
  assert.deepEqual(disk.map(({ check }) => check), ["disk for state", "disk for logs"]);
  assert.match(disk[0]!.message, new RegExp(`free at ${folder}`));
});

test("problems that the agent reports are shown", async () => {
  const status = {
    version: "0.0.1",
    node: "edge-7",
    startedAt: "",
    stateDir: "/var/lib/nckubelet",
    logDir: "/var/log/nckubelet",
    limits: { enforced: false, strict: true, message: "no cgroup v2" },
    launcher: { kind: "native" as const, message: "/state/launcher-0" },
    sources: [{ name: "api-server", ready: false, message: "403 Forbidden", since: "" }],
    problems: [
      { message: "not YAML", origin: "/etc/a.yaml" },
      { message: "/etc/b.yaml:2: not YAML", origin: "/etc/b.yaml" },
    ],
    checks: [
      { name: "source-api-server", ok: false, message: "403 Forbidden" },
      { name: "listen", ok: false, message: "--listen 127.0.0.1:10268: EADDRINUSE" },
      { name: "sync", ok: true, message: "last sync 1 s ago" },
    ],
  };
  const launched = async (launcher: AgentStatus["launcher"]) =>
    (await checkAgent({ status: async () => ({ ...status, launcher }) })).map(line)
      .filter((text) => text.includes("launcher"));
  assert.deepEqual(await launched({ kind: "native", message: "/state/launcher-0" }), [
    "ok launcher: /state/launcher-0",
  ]);
  assert.deepEqual(await launched({ kind: "none", message: "cannot execute it: EACCES" }), [
    "problem launcher: no app can start: cannot execute it: EACCES",
  ]);
  assert.deepEqual((await checkAgent({ status: async () => status })).map(line), [
    `warning agent: the agent runs version 0.0.1, this is ${version}: restart the agent`,
    "problem limits: apps with caps cannot start: no cgroup v2",
    "ok launcher: /state/launcher-0",
    "problem source api-server: 403 Forbidden",
    "problem listen: --listen 127.0.0.1:10268: EADDRINUSE",
    "warning manifest: /etc/a.yaml: not YAML",
    "warning manifest: /etc/b.yaml:2: not YAML",
  ]);
  const lenient = { ...status, limits: { ...status.limits, strict: false } };
  assert.equal(
    (await checkAgent({ status: async () => lenient })).map(line)[1],
    "warning limits: apps start without caps: no cgroup v2",
  );
});

test("under --enforce best-effort, a node without cgroup v2 is a warning", async () => {
  using temp = tempFolder();
  await mkdir(join(temp.path, "self"));
  await writeFile(join(temp.path, "self/mountinfo"), "");
  const [finding] = await checkCgroups({ enforce: "best-effort" }, { procRoot: temp.path });
  assert.match(line(finding!), /^warning cgroup v2: apps start without caps: /);
});

test("doctor prints a line for each check, and fails if one does", async () => {
  const output = await call(["doctor", "--standalone", "--socket", "/none.sock"]).done;
  assert.equal(output.code, 1);
  assert.match(output.stdout, /^FAIL +agent +no agent is running at \/none\.sock: start one/m);
  assert.match(output.stdout, /^OK +api server +not used: standalone/m);
});
