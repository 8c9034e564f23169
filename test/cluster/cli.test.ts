import assert from "node:assert/strict";
import { test } from "node:test";
import type { Io } from "../../src/cli/command.ts";
import { type CommandTable, runCommandLine } from "../../src/cli/command-line.ts";
import { commands } from "../../src/cli/commands.ts";
import { pluginCommands } from "../../src/cli/plugin.ts";
import { withControlPlane } from "../harness/control-plane.ts";
import { skipUnless } from "../harness/parts.ts";

async function call(words: string[], table: CommandTable = commands) {
  const said = { stdout: "", stderr: "" };
  const io: Io = {
    stdout: (text) => void (said.stdout += text),
    stderr: (text) => void (said.stderr += text),
    env: {},
    columns: 0,
    signal: new AbortController().signal,
  };
  return { code: await runCommandLine(words, table, io), ...said };
}

test("doctor, manifests and the plugin work with a real API server", {
  skip: skipUnless("control-plane"),
}, async (context) => {
  await withControlPlane(async (cluster) => {
    const kubeconfig = await cluster.kubeconfigFor("nckubelet:node-a");
    const doctor = async () =>
      (await call(["doctor", "--kubeconfig", kubeconfig, "--socket", "/none.sock"])).stdout;

    await context.test("doctor finds that nothing is installed, and says what to do", async () => {
      const said = await doctor();
      assert.match(said, /^OK +api server +v1\.\d+/m);
      assert.match(said, /^(FAIL|WARN) +crd +/m);
      assert.match(said, /^FAIL +rbac +may not list ncapps, .*: nckubelet manifests \| kubectl apply -f -/m);
      assert.match(said, /^OK +clock +within \d s/m);
    });

    await context.test("what manifests prints can be applied, and then doctor is content", async () => {
      const { code, stdout } = await call(["manifests", "--kubeconfig", cluster.kubeconfig]);
      assert.equal(code, 0);
      await cluster.kubectl(["apply", "-f", "-"], { input: stdout });
      await cluster.kubectl(["wait", "--for=condition=established", "crd/ncapps.app.example.com"]);
      const said = await doctor();
      for (const check of ["api server", "crd", "rbac", "clock"]) {
        assert.match(said, new RegExp(`^OK +${check}`, "m"));
      }
    });

    await context.test("kubectl ncapp lists, describes with events, and restarts", async () => {
      const manifest = (fields: object) => ({ input: JSON.stringify(fields) });
      const { stdout: created } = await cluster.kubectl(
        ["create", "-o", "json", "-f", "-"],
        manifest({
          apiVersion: "app.example.com/v1alpha1",
          kind: "NCApp",
          metadata: { name: "web", namespace: "default" },
          spec: { shellFile: "/srv/web.sh", nodeName: "node-a", cpuPCT: "20" },
        }),
      );
      const { uid } = JSON.parse(created).metadata;
      await cluster.kubectl(
        ["create", "-f", "-"],
        manifest({
          apiVersion: "v1",
          kind: "Event",
          metadata: { name: "web.1", namespace: "default" },
          involvedObject: { kind: "NCApp", namespace: "default", name: "web", uid },
          type: "Normal",
          reason: "Started",
          message: "Started /srv/web.sh",
          lastTimestamp: new Date().toISOString(),
        }),
      );
      const plugin = (...words: string[]) =>
        call([...words, "--kubeconfig", cluster.kubeconfig], pluginCommands);
      assert.match((await plugin("ps")).stdout, /^default +web +node-a/m);
      assert.match(
        (await plugin("describe", "web")).stdout,
        /Normal +Started +\ds +Started \/srv\/web\.sh\n$/,
      );
      assert.equal((await plugin("restart", "web")).code, 0);
      const { stdout } = await cluster.kubectl(["get", "ncapp", "web", "-o", "json"]);
      assert.match(JSON.parse(stdout).metadata.annotations["app.example.com/restartedAt"], /^20/);
      assert.match((await plugin("restart", "wbe")).stderr, /no NCApp default\/wbe/);
    });
  });
});
