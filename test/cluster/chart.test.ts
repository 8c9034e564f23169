/** The Helm chart and the kustomize base on a real API server, by server-side dry runs. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { loadAll } from "js-yaml";
import { buildChart } from "../../tools/release/chart.ts";
import { buildKustomize } from "../../tools/release/kustomize.ts";
import { runCommand } from "../../tools/command.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { findHelm } from "../harness/helm.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";

const helm = findHelm();
const noHelm = "missing" in helm ? helm.missing : false;

interface Rendered {
  kind: string;
  // deno-lint-ignore no-explicit-any
  spec?: any;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
}

async function put(files: Map<string, string>, folder: string): Promise<string> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Those of Prometheus Operator, as far as the API server has to know them. */
const operatorKinds = [["servicemonitors", "ServiceMonitor"], ["prometheusrules", "PrometheusRule"]].map((
  [plural = "", kind = ""],
) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.monitoring.coreos.com` },
  spec: {
    group: "monitoring.coreos.com",
    scope: "Namespaced",
    names: { plural, singular: kind.toLowerCase(), kind },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }],
  },
}));

describe("what a platform team installs", { skip: skipUnless("control-plane"), timeout: 240_000 }, () => {
  const temp = tempFolder();
  let cluster: Cluster;
  let chart = "";

  before(async () => {
    cluster = await startControlPlane();
    // A dry run creates none, and objects below need them.
    for (const name of ["nckubelet", "nckubelet-agents"]) {
      await cluster.kubectl(["create", "namespace", name]);
    }
    for (const kind of operatorKinds) await cluster.apply(kind);
    await cluster.kubectl([
      ...["wait", "--for=condition=established", "--timeout=30s", "crd"],
      ...operatorKinds.map(({ metadata }) => metadata.name),
    ]);
    chart = await put(await buildChart({ version: "1.2.3" }), join(temp.path, "nckubelet"));
  });
  after(async () => {
    await cluster?.stop();
    temp.remove();
  });

  const dryRun = async (manifests: string) => {
    const words = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    const { stdout, stderr } = await cluster.kubectl(words, { input: manifests });
    assert.doesNotMatch(stderr, /warning/i);
    return stdout;
  };
  const callHelm = async (words: string[], values: object = {}) => {
    const file = join(temp.path, "values.json");
    await writeFile(file, JSON.stringify(values));
    if ("missing" in helm) throw new Error(helm.missing);
    return await runCommand(helm.path, [...words, "-f", file]);
  };
  const template = async (values: object = {}, namespace = "nckubelet") => {
    const { code, stdout, stderr } = await callHelm(["template", "nc", chart, "-n", namespace], values);
    assert.equal(code, 0, stderr);
    return { text: stdout, objects: loadAll(stdout).filter(Boolean) as Rendered[] };
  };
  const isCurrent = (t: { skip(why: string): void }) => {
    if (cluster.has("admission-policy")) return true;
    t.skip(`the chart is for API servers 1.31 and later, this is ${cluster.version.gitVersion}`);
    return false;
  };

  test("kubectl builds the kustomize base with an overlay, and the server accepts all of it", async (t) => {
    if (!isCurrent(t)) return;
    const folder = await put(buildKustomize({ version: "1.2.3" }), join(temp.path, "kustomize"));
    const overlay = new Map([[
      "own/kustomization.yaml",
      "resources: [../base]\ncomponents: [../tenancy]\nimages: [{name: nckubelet, newName: registry.example.com/nckubelet}]\n",
    ]]);
    await put(overlay, folder);
    const { stdout } = await cluster.kubectl(["kustomize", join(folder, "own")]);
    const objects = loadAll(stdout) as Rendered[];
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    assert.equal(deployment?.spec.template.spec.containers[0].image, "registry.example.com/nckubelet:1.2.3");
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels["app.kubernetes.io/part-of"], "nckubelet", `${kind} ${metadata.name}`);
    }
    const applied = await dryRun(stdout);
    assert.equal(applied.trim().split("\n").length, objects.length, applied);
  });

  test("helm lint finds nothing, and the server accepts what the defaults and all values render", {
    skip: noHelm,
  }, async (t) => {
    if (!isCurrent(t)) return;
    const all = {
      image: { repository: "registry.example.com/nckubelet", digest: `sha256:${"a".repeat(64)}` },
      imagePullSecrets: [{ name: "pull" }],
      replicas: 3,
      placement: "binpack",
      extraArgs: ["--log-format=json"],
      podAnnotations: { "example.com/a": "b" },
      nodeSelector: { "kubernetes.io/os": "linux" },
      tenancy: { install: true },
      rbac: { aggregateToEdit: true, aggregateToAdmin: true, aggregateToView: false },
      metrics: {
        serviceMonitor: true,
        prometheusRule: true,
        labels: { release: "prometheus" },
        readers: [{ namespace: "monitoring", name: "prometheus" }],
        tlsSecret: "nckubelet-tls",
      },
    };
    for (const values of [{}, all]) {
      const { code, stdout, stderr } = await callHelm(["lint", chart, "-n", "nckubelet"], values);
      assert.equal(code, 0, `${stdout}${stderr}`);
      const { text, objects } = await template(values);
      const applied = await dryRun(text);
      assert.equal(applied.trim().split("\n").length, objects.length, applied);
      for (const { kind, metadata: { name, labels } } of objects) {
        for (const label of ["name", "part-of", "instance", "version", "managed-by"]) {
          assert.ok(labels[`app.kubernetes.io/${label}`], `${kind} ${name} has no label ${label}`);
        }
      }
    }
    const { objects } = await template(all);
    const find = (kind: string, name: string) =>
      objects.find(({ kind: its, metadata }) => its === kind && metadata.name === name);
    const { spec } = find("Deployment", "nckubelet-controller")!.spec.template;
    assert.equal(spec.containers[0].image, `registry.example.com/nckubelet@sha256:${"a".repeat(64)}`);
    assert.ok(spec.containers[0].args.includes("--log-format=json"));
    assert.ok(spec.containers[0].args.includes("--tls-cert-file=/etc/nckubelet/tls/tls.crt"));
    assert.equal(find("ServiceMonitor", "nckubelet-controller")?.spec.endpoints[0].honorLabels, true);
    const rules = JSON.stringify(find("PrometheusRule", "nckubelet")?.spec);
    assert.match(rules, /NCAppSetStalled/);
    assert.match(rules, /\{\{ \$labels\.set \}\}/, "Prometheus fills these in, not Helm");
    const edit = find("ClusterRole", "nckubelet-edit")?.metadata.labels;
    assert.equal(edit?.["rbac.authorization.k8s.io/aggregate-to-edit"], "true");
    assert.equal(
      find("ClusterRole", "nckubelet-view")?.metadata.labels["rbac.authorization.k8s.io/aggregate-to-view"],
      "false",
    );
  });

  test("an uninstallation leaves the CRDs and the accounts of the nodes", { skip: noHelm }, async () => {
    const { objects } = await template({ tenancy: { install: true } });
    const kept = objects.filter(({ metadata }) =>
      metadata.annotations?.["helm.sh/resource-policy"] === "keep"
    );
    assert.deepEqual(kept.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
      "CustomResourceDefinition ncapppolicies.app.example.com",
      "CustomResourceDefinition ncapps.app.example.com",
      "CustomResourceDefinition ncappsets.app.example.com",
      "Namespace nckubelet-agents",
    ]);
  });

  test("by default no role of the cluster gets to write NCApps", { skip: noHelm }, async () => {
    const { objects } = await template();
    const roles = objects.filter(({ kind }) => kind === "ClusterRole").map(({ metadata }) => metadata);
    const joined = roles.flatMap(({ name, labels }) =>
      Object.entries(labels).filter(([label, value]) => label.includes("aggregate-to") && value === "true")
        .map(([label]) => `${name} ${label.split("-").at(-1)}`)
    );
    assert.deepEqual(joined, ["nckubelet-view view"]);
  });

  test("the chart refuses values that it does not know, another namespace, and edit without tenancy", {
    skip: noHelm,
  }, async () => {
    const refused = async (values: object, why: RegExp, namespace = "nckubelet") => {
      const { code, stderr } = await callHelm(["template", "nc", chart, "-n", namespace], values);
      assert.equal(code, 1);
      assert.match(stderr, why);
    };
    await refused({ replica: 3 }, /replica/);
    await refused({ replicas: "3" }, /replicas/);
    await refused({ placement: "random" }, /placement/);
    await refused({ image: { digest: "latest" } }, /digest/);
    await refused({}, /install into the namespace nckubelet, not "default"/, "default");
    await refused({ rbac: { aggregateToEdit: true } }, /set tenancy\.install too/);
  });
});
