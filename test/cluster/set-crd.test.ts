/** NCAppSets on a real API server without their controller: the CRD, which must decide as the local validator does, and `rollout`. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setCrdName } from "../../src/api/names.ts";
import { setSpec } from "../../src/api/schema/schema.ts";
import { withDefaults } from "../../src/api/validate/validate.ts";
import { explainedSpecs } from "../api/samples.ts";
import { badSetSpecs, goodSetSpecs, setSpecWith, setWith } from "../api/set-samples.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { describesFields, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { testRollout } from "./rollout.ts";

const sets = "/apis/app.example.com/v1alpha1/namespaces/default/ncappsets";

describe("the CRD of NCAppSets on a real API server", { skip: skipUnless("control-plane") }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await startControlPlane();
    await installCRD(cluster);
    await cluster.kubectl(["wait", "--for=condition=established", "--timeout=30s", `crd/${setCrdName}`]);
    await describesFields(cluster, "ncappset");
  });

  after(() => cluster?.stop());

  const create = (object: object) =>
    cluster.request(`${sets}?dryRun=All&fieldValidation=Strict`, { method: "POST", body: object });

  test("the server accepts what the validator accepts, and fills in the same defaults", async () => {
    for (const spec of goodSetSpecs) {
      const { status, body } = await create(setWith(spec));
      assert.equal(status, 201, `${JSON.stringify(spec)}: ${body}`);
      assert.deepEqual(JSON.parse(body).spec, withDefaults(setSpec, spec));
    }
  });

  test("the server refuses what the validator refuses, for the same field", async () => {
    const hasRules = cluster.has("selectable-fields");
    for (const { spec, field, by } of badSetSpecs) {
      const { status, body } = await create(setWith(spec));
      const refuses = by === "schema" || (by === "cel" && hasRules);
      assert.equal(status, refuses ? 422 : 201, `${JSON.stringify(spec)}: ${body}`);
      if (!refuses) continue;
      const causes: Array<{ field: string }> = JSON.parse(body).details.causes;
      // Servers before 1.21 leave out the index of an item.
      const found = causes.map((cause) => cause.field.replaceAll(/\[.*?\]/g, ""));
      assert.ok(found.includes(field.replaceAll(/\[.*?\]/g, "")), `${JSON.stringify(spec)}: ${body}`);
    }
  });

  test("the server says in words what is wrong with a cap, a schedule and a time zone of a template", async (t) => {
    if (!cluster.has("selectable-fields")) return t.skip("this server has no CEL rules");
    for (const [spec, words] of explainedSpecs) {
      const { stderr } = await cluster.kubectl(["apply", "-f", "-"], {
        input: JSON.stringify(setWith(setSpecWith({}, spec))),
        allowFail: true,
      });
      assert.match(stderr, words);
      assert.match(stderr, /spec\.template\.spec\./);
      assert.doesNotMatch(stderr, /should match|\^\(/);
    }
  });

  test("kubectl scales a set, lists it with its columns, and explains it", async () => {
    const set = setWith(setSpecWith({ replicas: 3 }), { name: "scaled" });
    await cluster.apply(set);
    await cluster.kubectl(["scale", "ncappset/scaled", "--replicas=7"]);
    assert.equal(JSON.parse((await cluster.request(`${sets}/scaled`)).body).spec.replicas, 7);
    const many = ["scale", "ncappset/scaled", "--replicas=1000000"];
    const { code, stderr } = await cluster.kubectl(many, { allowFail: true });
    assert.equal(code, 1);
    assert.match(stderr, /spec\.replicas.* should be less than or equal to 10000/);
    const { stdout } = await cluster.kubectl(["get", "ncas"]);
    assert.deepEqual(stdout.split("\n")[0]!.trim().split(/\s+/), [
      ...["NAME", "DESIRED", "UPDATED", "READY", "COMPLETED", "FAILED", "REVISION", "AGE"],
    ]);
    const explained = (await cluster.kubectl(["explain", "ncappset.spec.update.maxUnavailable"])).stdout;
    assert.match(explained.replaceAll(/\s+/g, " "), /How many apps may be unavailable because of an update/);
  });

  test("the selector and the kind of a set cannot be changed", async (t) => {
    if (!cluster.has("selectable-fields")) return t.diagnostic("the server has no CEL rules");
    const patch = (spec: object) =>
      cluster.request(`${sets}/each`, {
        method: "PATCH",
        body: { spec },
        contentType: "application/merge-patch+json",
      });
    await cluster.request(sets, { method: "POST", body: setWith(setSpecWith(), { name: "each" }) });
    assert.match((await patch({ replicas: 3 })).body, /replicas cannot be added or removed/);
    assert.match(
      (await patch({
        selector: { matchLabels: { tier: "x" } },
        template: { metadata: { labels: { tier: "x" } } },
      }))
        .body,
      /cannot be changed: create another set/,
    );
    assert.equal((await patch({ paused: true })).status, 200);
  });

  describe("kubectl ncapp rollout", () => testRollout(() => cluster));
});
