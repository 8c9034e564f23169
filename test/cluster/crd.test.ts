/**
 * The CRD, RBAC and examples on a real API server, and the proof that the local validator decides as the server does.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { applyDefaults } from "../../src/api/validate/defaults.ts";
import { renderInstallManifests } from "../../src/api/install/install.ts";
import { parseManifests } from "../../src/api/manifest/manifest.ts";
import { agentGroup, agentUser, schedulerGroup } from "../../src/api/names.ts";
import type { NCAppSpec } from "../../src/api/types.ts";
import { validateNCApp } from "../../src/api/validate/validate.ts";
import { appWith, badSpecs, goodSpecs } from "../api/samples.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { checkout, skipUnless } from "../harness/parts.ts";

const agent = agentUser("node-1");
const users = [
  { name: agent, groups: [agentGroup] },
  { name: "scheduler", groups: [schedulerGroup] },
];
const ncapps = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const crd = join(checkout, "crd");
const examples = join(checkout, "examples");

describe("crd/ on a real API server", { skip: skipUnless("control-plane") }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await startControlPlane({ users });
    await cluster.kubectl(["apply", "-f", crd]);
    if (cluster.has("selectable-fields")) await cluster.kubectl(["apply", "-f", join(crd, "optional")]);
    await cluster.kubectl([
      "wait",
      "--for=condition=established",
      "--timeout=30s",
      "crd/ncapps.app.example.com",
    ]);
  });

  after(() => cluster?.stop());

  test("kubectl apply -f crd/ changes nothing the second time", async () => {
    const { stdout } = await cluster.kubectl(["apply", "-f", join(crd, "rbac.yaml")]);
    assert.doesNotMatch(stdout, /created|configured/);
  });

  test("kubectl applies the manifests for this server's version", async () => {
    const input = renderInstallManifests({ minor: cluster.version.minor, image: "nckubelet:test" });
    await cluster.kubectl(["apply", "-f", "-"], { input });
  });

  test("kubectl applies the sample of the design unchanged and lists it with the columns of the design", async () => {
    const sample = appWith({ shellFile: "", cpuPCT: "", memPCT: "" }, { name: "test-ncapp1" });
    await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(sample) });
    const { stdout } = await cluster.kubectl(["get", "nca"]);
    assert.deepEqual(stdout.split("\n")[0]!.trim().split(/\s+/), [
      ...["NAME", "NODE", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "AGE"],
    ]);
    assert.match((await cluster.kubectl(["get", "all"])).stdout, /ncapp\.app\.example\.com\/test-ncapp1/);
    const stored = JSON.parse((await cluster.request(`${ncapps}/test-ncapp1`)).body);
    assert.deepEqual(stored.spec, applyDefaults({ shellFile: "", cpuPCT: "", memPCT: "" }));
  });

  test("the server tells kubectl which field is wrong", async () => {
    const bad = {
      cpuPCT: ["200", "abc", -1, "0", 0, 101],
      memPCT: ["200%"],
      restartPolicy: ["Sometimes"],
      oomPolicy: ["x"],
    };
    for (const [field, values] of Object.entries(bad)) {
      for (const value of values) {
        const input = JSON.stringify(appWith({ [field]: value }));
        const { code, stderr } = await cluster.kubectl(["apply", "-f", "-"], { input, allowFail: true });
        assert.equal(code, 1, input);
        assert.ok(stderr.includes(`spec.${field}: `), stderr);
      }
    }
  });

  test("kubectl and the validator refuse a misspelled field", async () => {
    const object = appWith({ cpuPct: "20" });
    const { stderr } = await cluster.kubectl(["apply", "-f", "-"], {
      input: JSON.stringify(object),
      allowFail: true,
    });
    assert.match(stderr, /unknown field "(spec\.)?cpuPct"/);
    assert.equal(validateNCApp(object).length, 1);
  });

  test("kubectl explain describes a field", async () => {
    const { stdout } = await cluster.kubectl(["explain", "ncapp.spec.cpuPCT"]);
    assert.match(
      stdout.replaceAll(/\s+/g, " "),
      /Hard cap on CPU time, in percent of all CPUs of the node: "20", "12\.5" or 20/,
    );
  });

  test("the server accepts what the validator accepts, and fills in the same defaults", async () => {
    for (const spec of goodSpecs) {
      const { status, body } = await create(appWith(spec));
      assert.equal(status, 201, `${JSON.stringify(spec)}: ${body}`);
      assert.deepEqual(JSON.parse(body).spec, applyDefaults(spec as NCAppSpec));
    }
  });

  test("the server refuses what the validator refuses, for the same field", async (t) => {
    const hasRules = cluster.has("selectable-fields");
    if (!hasRules) t.diagnostic(`API server ${cluster.version.gitVersion}: the CEL rules were not covered`);
    for (const { spec, field, by } of badSpecs) {
      const { status, body } = await create(appWith(spec));
      const refuses = by === "schema" || (by === "cel" && hasRules);
      assert.equal(status, refuses ? 422 : 201, `${JSON.stringify(spec)}: ${body}`);
      if (!refuses) continue;
      const causes: Array<{ field: string }> = JSON.parse(body).details.causes;
      const fields = causes.map((cause) => withoutIndexes(cause.field));
      assert.ok(
        fields.includes(withoutIndexes(field)),
        `${JSON.stringify(spec)}: ${field} is not in ${body}`,
      );
    }
  });

  test("the server validates a status, too", async () => {
    await cluster.request(ncapps, { method: "POST", body: appWith({}, { name: "with-status" }) });
    const patch = (status: object) =>
      cluster.request(`${ncapps}/with-status/status`, {
        method: "PATCH",
        body: { status },
        contentType: "application/merge-patch+json",
      });
    const good = {
      phase: "Running",
      ready: true,
      cpuPCT: "1.5",
      restarts: 0,
      startTime: "2026-11-16T01:02:03Z",
    };
    assert.equal((await patch({ ...good, conditions: [{ type: "Ready", status: "True" }] })).status, 200);
    assert.match((await patch({ phase: "Dancing" })).body, /status\.phase: Unsupported value/);
  });

  test("kubectl applies every example", async () => {
    for (const name of (await readdir(examples)).filter((name) => name.endsWith(".yaml"))) {
      const { apps } = parseManifests(await readFile(join(examples, name), "utf8"), name, {
        baseDir: examples,
      });
      for (const { app } of apps) await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(app) });
    }
    await cluster.kubectl(["apply", "-f", join(examples, "cluster")]);
  });

  test("agents and schedulers may do what they need, and no more", async () => {
    const table = {
      [agent]: {
        may: [
          ...[
            "list ncapps",
            "watch ncapps",
            "patch ncapps/status",
            "create nodes",
            "patch nodes",
            "patch nodes/status",
          ],
          ...[
            "create leases -n kube-node-lease",
            "update leases -n kube-node-lease",
            "create events",
            "list priorityclasses",
          ],
          ...["create tokenreviews", "create subjectaccessreviews"],
        ],
        mayNot: [
          ...["get secrets", "list secrets", "get configmaps", "update ncapps", "delete nodes", "list nodes"],
          ...[
            "create leases",
            "create leases -n nckubelet",
            "delete leases -n kube-node-lease",
            "create pods",
            "get pods",
          ],
          ...["patch resourcequotas/status", "create clusterrolebindings", "impersonate users"],
          ...["get priorityclasses", "watch priorityclasses"],
          ...(cluster.has("admission-policy") ? [] : ["create ncapps", "patch ncapps", "delete ncapps"]),
        ],
      },
      scheduler: {
        may: [
          ...[
            "list ncapps",
            "watch ncapps",
            "patch ncapps",
            "patch ncapps/status",
            "watch nodes",
            "create events",
          ],
          ...[
            "watch leases -n kube-node-lease",
            "create leases -n nckubelet",
            "patch leases/nc-scheduler -n nckubelet",
          ],
          ...[
            "list priorityclasses",
            "list resourcequotas",
            "patch resourcequotas/status",
            "list limitranges",
          ],
        ],
        mayNot: [
          ...[
            "get secrets",
            "create ncapps",
            "delete ncapps",
            "patch nodes",
            "patch leases -n kube-node-lease",
          ],
          ...["patch leases/other -n nckubelet", "patch resourcequotas", "create pods"],
        ],
      },
    };
    for (const [user, { may, mayNot }] of Object.entries(table)) {
      for (const what of may) {
        assert.equal(await canI(user, what), true, `${user} must be allowed to ${what}`);
      }
      for (const what of mayNot) {
        assert.equal(await canI(user, what), false, `${user} must not be allowed to ${what}`);
      }
    }
  });

  test("an agent writes only to its own node", async (t) => {
    if (!cluster.has("admission-policy")) {
      return t.skip(`API server ${cluster.version.gitVersion} has no admission policies`);
    }
    const as = { token: cluster.tokenFor(agent), contentType: "application/merge-patch+json" };
    const mirror = { "app.example.com/config.mirror": "x" };
    for (const node of ["node-1", "node-2"]) {
      const own = node === "node-1";
      await cluster.request(ncapps, {
        method: "POST",
        body: appWith({ nodeName: node }, { name: `on-${node}` }),
      });
      const status = await cluster.request(`${ncapps}/on-${node}/status`, {
        ...as,
        method: "PATCH",
        body: { status: { phase: "Running" } },
      });
      assert.equal(status.status, own ? 200 : 403, status.body);
      const spec = await cluster.request(`${ncapps}/on-${node}`, {
        ...as,
        method: "PATCH",
        body: { spec: { suspend: true } },
      });
      assert.equal(spec.status, 403, spec.body);
      const body = appWith({ nodeName: node }, { name: `mirror-${node}`, annotations: mirror });
      const created = await cluster.request(ncapps, { token: as.token, method: "POST", body });
      assert.equal(created.status, own ? 201 : 403, created.body);
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: `nckubelet-${node}` },
      };
      const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
      const leased = await cluster.request(leases, { token: as.token, method: "POST", body: lease });
      assert.equal(leased.status, own ? 201 : 403, leased.body);
    }
  });

  function create(body: object): Promise<{ status: number; body: string }> {
    return cluster.request(`${ncapps}?dryRun=All`, { method: "POST", body });
  }

  // "patch leases/nc-scheduler -n nckubelet", as kubectl auth can-i has it; a subresource is not a name.
  async function canI(user: string, what: string): Promise<boolean> {
    const [verb, target, , namespace] = what.split(" ");
    const [resource, rest] = target!.split("/");
    const attributes = {
      verb,
      resource,
      group: groups[resource!] ?? "",
      // The examples bind nckubelet-env-reader in "default".
      namespace: namespace ?? "elsewhere",
      ...(rest === "status" ? { subresource: rest } : { name: rest }),
    };
    const { body } = await cluster.request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      method: "POST",
      token: cluster.tokenFor(user),
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
    });
    return JSON.parse(body).status.allowed;
  }
});

const groups: { [resource: string]: string } = {
  ncapps: "app.example.com",
  leases: "coordination.k8s.io",
  priorityclasses: "scheduling.k8s.io",
  tokenreviews: "authentication.k8s.io",
  subjectaccessreviews: "authorization.k8s.io",
  clusterrolebindings: "rbac.authorization.k8s.io",
};

// Servers differ in how they name items: spec.env.name (1.20), spec.env[0].name (later).
function withoutIndexes(field: string): string {
  return field.replaceAll(/\[\d+\]/g, "").replaceAll(/\[([a-z]+)\]/g, ".$1");
}
