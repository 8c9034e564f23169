import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { withControlPlane } from "../harness/control-plane.ts";
import { checkout, skipUnless } from "../harness/parts.ts";
import { createSandbox } from "../install/sandbox.ts";

test("install.sh joins a real API server, and refuses what that server would refuse", {
  skip: skipUnless("control-plane"),
}, async () => {
  const built = join(checkout, "dist/nckubelet");
  if (!existsSync(built)) execFileSync(process.execPath, ["tools/build.ts"], { cwd: checkout });
  await withControlPlane(async (cluster) => {
    await using machine = await createSandbox();
    // The real executable, without a copy of its 120 MB.
    const executable = join(machine.dir, "nckubelet");
    await writeFile(executable, `#!/bin/sh\nexec ${built} "$@"\n`);
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
      /^install: the API server cannot be used: .*401.*\n$/i,
    );
    await refused({ NCKUBELET_CA_FILE: "" }, /^install: the API server cannot be used: .*certificate.*\n$/i);
    await refused(
      { NCKUBELET_SERVER: "https://127.0.0.1:1" },
      /^install: the API server cannot be used: .*\n$/,
    );

    const key = execFileSync("sh", [
      "-c",
      `openssl x509 -in ${cluster.caFile} -noout -pubkey | openssl pkey -pubin -outform DER`,
    ]);
    const pin = `sha256:${createHash("sha256").update(key).digest("hex")}`;
    const { code, stderr } = await machine.run(["sh"], undefined, { ...right, NCKUBELET_CA_HASH: pin });
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
  });
});
