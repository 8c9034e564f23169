import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { builtExecutable } from "../harness/built-executable.ts";
import type { Cluster } from "../harness/cluster.ts";
import { createSandbox } from "../install/sandbox.ts";

/** install.sh joins a real API server, and refuses input that the server would refuse. */
export async function testJoining(cluster: Cluster): Promise<void> {
  const built = builtExecutable();
  await using machine = await createSandbox();
  // The real executable, without a copy of its 120 MB. No agent runs here: its socket answers as if one did.
  const executable = join(machine.dir, "nckubelet");
  await writeFile(executable, `#!/bin/sh\n[ "$1" = ps ] || exec ${built} "$@"\n`);
  await chmod(executable, 0o755);
  const right = {
    NCKUBELET_BINARY: executable,
    NCKUBELET_SERVER: cluster.server,
    NCKUBELET_TOKEN: cluster.adminToken,
    NCKUBELET_CA_FILE: cluster.caFile,
  };
  const before = await machine.list();
  const refused = async (settings: Record<string, string>, says: RegExp) => {
    const { code, stderr } = await machine.run(["sh"], undefined, { ...right, ...settings });
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, new RegExp(cluster.adminToken));
    assert.equal(code, 1);
    assert.deepEqual(await machine.list(), before);
  };
  await refused(
    { NCKUBELET_TOKEN: "not-this-one" },
    /^install: cannot use the API server: .*401.*\n$/i,
  );
  await refused({ NCKUBELET_CA_FILE: "" }, /^install: cannot use the API server: .*certificate.*\n$/i);
  await refused(
    { NCKUBELET_SERVER: "https://127.0.0.1:1" },
    /^install: cannot use the API server: .*\n$/,
  );

  const key = execFileSync("sh", [
    "-c",
    `openssl x509 -in ${cluster.caFile} -noout -pubkey | openssl pkey -pubin -outform DER`,
  ]);
  const pin = `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const other = `sha256:${"0".repeat(64)}`;
  const mismatch = new RegExp(
    `^install: cannot use the API server: the CA of ${cluster.server} has the hash ${pin}, not ${other}\n$`,
  );
  await refused({ NCKUBELET_CA_HASH: other }, mismatch);
  await refused(
    { NCKUBELET_CA_FILE: "", NCKUBELET_CA_HASH: pin },
    /^install: cannot use the API server: .* does not publish its CA: name it with --ca-file FILE: .*\n$/,
  );
  await publishCa(cluster);
  await refused({ NCKUBELET_CA_FILE: "", NCKUBELET_CA_HASH: other }, mismatch);
  const { code, stderr } = await machine.run(["sh"], undefined, {
    ...right,
    NCKUBELET_CA_FILE: "",
    NCKUBELET_CA_HASH: pin,
  });
  assert.deepEqual([code, stderr], [0, ""]);
  const kubeconfig = join(machine.root, "etc/nckubelet/kubeconfig");
  assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
  assert.match((await cluster.kubectl(["version"], { kubeconfig })).stdout, /Server Version/);

  await machine.run(["sh"], join(machine.root, "usr/local/bin/nckubelet-uninstall.sh"), {}, ["--purge"]);
  const copied = await machine.run(["sh"], undefined, {
    NCKUBELET_BINARY: executable,
    NCKUBELET_KUBECONFIG: cluster.kubeconfig,
  });
  assert.deepEqual([copied.code, copied.stderr], [0, ""]);
  assert.equal(await readFile(kubeconfig, "utf8"), await readFile(cluster.kubeconfig, "utf8"));
}

/** As kubeadm does: every user may read the CA. */
async function publishCa(cluster: Cluster): Promise<void> {
  const data = (await readFile(cluster.caFile)).toString("base64");
  const kubeconfig =
    `clusters:\n- cluster:\n    certificate-authority-data: ${data}\n    server: ""\n  name: ""\n`;
  const name = "cluster-info";
  await cluster.kubectl(["create", "namespace", "kube-public"]).catch(() => {});
  const inNamespace = ["-n", "kube-public", "create"];
  await cluster.kubectl([...inNamespace, "configmap", name, `--from-literal=kubeconfig=${kubeconfig}`]);
  const rule = ["--verb=get", "--resource=configmaps", `--resource-name=${name}`];
  await cluster.kubectl([...inNamespace, "role", name, ...rule]);
  await cluster.kubectl([...inNamespace, "rolebinding", name, `--role=${name}`, "--user=system:anonymous"]);
}
