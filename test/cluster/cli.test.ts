import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { crdName } from "../../src/api/names.ts";
import { call } from "../cli/call.ts";
import { withControlPlane } from "../harness/control-plane.ts";
import { skipUnless } from "../harness/parts.ts";
import { startAgentProcess } from "../agent-process.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { testJoining } from "./install-join.ts";

test("doctor, manifests and install.sh work with a real API server", {
  skip: skipUnless("control-plane"),
}, async (context) => {
  await withControlPlane(async (cluster) => {
    const kubeconfig = await cluster.kubeconfigFor("nckubelet:node-a");
    const doctor = async () =>
      (await call(["doctor", "--kubeconfig", kubeconfig, "--socket", "/none.sock"]).done).stdout;

    await context.test("doctor reports that nothing is installed, and how to fix it", async () => {
      const output = await doctor();
      assert.match(output, /^OK +api server +v1\.\d+/m);
      assert.match(output, /^(FAIL|WARN) +crd +/m);
      assert.match(
        output,
        /^FAIL +rbac +may not list\/watch ncapps, .*: nckubelet manifests \| kubectl apply -f -/m,
      );
      assert.match(output, /^OK +clock +within \d s/m);
    });

    await context.test("the output of manifests can be applied, and then doctor passes", async () => {
      const { code, stdout } = await call(["manifests", "--kubeconfig", cluster.kubeconfig]).done;
      assert.equal(code, 0);
      await cluster.kubectl(["apply", "-f", "-"], { input: stdout });
      await cluster.kubectl(["wait", "--for=condition=established", `crd/${crdName}`]);
      const output = await doctor();
      for (const check of ["api server", "crd", "rbac", "clock"]) {
        assert.match(output, new RegExp(`^OK +${check}`, "m"));
      }
    });

    await context.test("a credential of another node joins nothing, and an agent with it is not ready and says why", async (t) => {
      if (!cluster.has("selectable-fields")) return t.skip("this server does not say whose a credential is");
      const other = await cluster.kubeconfigFor("nckubelet:node-b");
      using temp = tempFolder();
      const output = join(temp.path, "kubeconfig");
      const joins = (name: string) =>
        call(["join", "--kubeconfig", other, "--output", output, "--node-name", name]).done;
      const refused = await joins("node-a");
      assert.match(refused.stderr, /the credential is that of node node-b .* and this node is node-a/);
      assert.deepEqual([refused.code, await readdir(temp.path)], [1, []]);
      assert.equal((await joins("node-b")).code, 0);

      await using agent = await startAgentProcess(["--kubeconfig", other, "--node-name", "node-a"]);
      const why = /-\]authorization failed: the API server refuses the agent to .*write leases \(403/;
      await waitFor("it is not ready", async () => {
        const answer = await fetch(`${agent.url}/readyz`);
        return answer.status === 503 && why.test(await answer.text());
      }, 30_000);
      const asked = await call(["doctor", "--socket", agent.socket], {
        env: { KUBECONFIG: cluster.kubeconfig },
      }).done;
      assert.match(
        asked.stdout,
        /^FAIL +authorization +the agent says: the API server refuses the agent to .*write leases/m,
      );
      assert.match(asked.stdout, /^FAIL +identity +the credential is that of node node-b/m);
    });

    await context.test("doctor names what a CRD of an earlier release lacks, and what that costs", async () => {
      const spec = { type: "object", properties: { shellFile: { type: "string" } } };
      const versions = [{
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      }];
      const patch = JSON.stringify({ spec: { versions } });
      await cluster.kubectl(["patch", "crd", crdName, "--type=merge", "-p", patch]);
      assert.match(
        await doctor(),
        cluster.has("selectable-fields")
          ? /^WARN +crd +it is older .* store spec\.\w+, .* and \d+ more; it cannot select .* every NCApp of the cluster: nckubelet manifests/m
          : /^WARN +crd +it is older .* store spec\.\w+, .* and \d+ more: nckubelet manifests/m,
      );
    });

    await context.test(
      "install.sh joins a real API server, and refuses input that the server would refuse",
      () => testJoining(cluster),
    );
  });
});
