import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { execCredentialSource } from "../../../src/kube/access/exec-credential.ts";
import { tempFolder } from "../../temp-folder.ts";
import { alice } from "./certificates.ts";

const apiVersion = "client.authentication.k8s.io/v1";
const printed = (status: Record<string, unknown>, version = apiVersion) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: version, status });

/** Runs `use` with this shell script as the plugin. */
async function withPlugin(script: string, use: (plugin: Plugin, folder: string) => Promise<void>) {
  using temp = tempFolder();
  const folder = temp.path;
  const command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\n${script}\n`);
  await chmod(command, 0o755);
  await use({ apiVersion, command, args: [], env: { FOLDER: folder }, provideClusterInfo: false }, folder);
}

type Plugin = Parameters<typeof execCredentialSource>[0];

test("execCredentialSource() runs the command once until its credential expires", async () => {
  const expires = new Date(5_000).toISOString();
  const script = `echo run >> "$FOLDER/runs"; echo '${
    printed({ token: "t", expirationTimestamp: expires })
  }'`;
  await withPlugin(script, async (plugin, folder) => {
    let time = 0;
    const source = execCredentialSource(plugin, { env: {}, now: () => time });
    const [first, second] = await Promise.all([source.get(), source.get()]);
    assert.equal(first.token, "t");
    assert.equal(second.token, "t");
    time = 4_999;
    await source.get();
    assert.equal(await readFile(join(folder, "runs"), "utf8"), "run\n");
    time = 5_000;
    await source.get();
    assert.equal(await readFile(join(folder, "runs"), "utf8"), "run\nrun\n");
  });
});

test("execCredentialSource() runs the command again after the credential was refused", async () => {
  await withPlugin(
    `echo run >> "$FOLDER/runs"; echo '${printed({ token: "t" })}'`,
    async (plugin, folder) => {
      const source = execCredentialSource(plugin, { env: {} });
      await source.get();
      source.forget();
      await source.get();
      assert.equal(await readFile(join(folder, "runs"), "utf8"), "run\nrun\n");
    },
  );
});

test("execCredentialSource() passes environment and cluster, and no terminal", async () => {
  const script =
    `printf '%s' "$KUBERNETES_EXEC_INFO" > "$FOLDER/info"; read line || echo "$GREETING" > "$FOLDER/read"
echo '${printed({ token: "t" })}'`;
  await withPlugin(script, async (plugin, folder) => {
    const clusterInfo = { server: "https://k8s.test" };
    await execCredentialSource(plugin, { env: { GREETING: "hello" }, clusterInfo }).get();
    assert.deepEqual(JSON.parse(await readFile(join(folder, "info"), "utf8")), {
      apiVersion,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: clusterInfo },
    });
    assert.equal(await readFile(join(folder, "read"), "utf8"), "hello\n");
  });
});

test("execCredentialSource() accepts a certificate", async () => {
  const status = { clientCertificateData: alice.cert, clientKeyData: alice.key };
  await withPlugin(`cat <<'END'\n${printed(status)}\nEND`, async (plugin) => {
    assert.deepEqual((await execCredentialSource(plugin, { env: {} }).get()).certificate, alice);
  });
});

test("a failed plugin is reported with its stderr, without its stdout, and may work the next time", async () => {
  const script = `if [ -e "$FOLDER/good" ]; then echo '${printed({ token: "t" })}'; exit; fi
echo s3cret; echo 'please log in' >&2; exit 3`;
  await withPlugin(script, async (plugin, folder) => {
    const source = execCredentialSource(plugin, { env: { PATH: "/usr/bin:/bin" } });
    await assert.rejects(source.get(), (error: Error) => {
      assert.match(error.message, /plugin: exit code 3: please log in$/);
      assert.doesNotMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), /s3cret/);
      return true;
    });
    await writeFile(join(folder, "good"), "");
    assert.equal((await source.get()).token, "t");
  });
});

test("a plugin that hangs is killed", async () => {
  await withPlugin("exec sleep 3600", async (plugin) => {
    const source = execCredentialSource(plugin, { env: { PATH: "/usr/bin:/bin" }, timeoutMs: 100 });
    await assert.rejects(source.get(), /plugin: no answer within 100 ms/);
  });
});

test("a plugin that is not installed is reported with its hint", async () => {
  const plugin = {
    apiVersion,
    command: "no-such-plugin",
    args: [],
    env: {},
    installHint: "apt install it",
    provideClusterInfo: false,
  };
  const source = execCredentialSource(plugin, { env: { PATH: "/nowhere" } });
  await assert.rejects(source.get(), /exec plugin no-such-plugin: not found. apt install it/);
});

const answers: [string, string, RegExp][] = [
  ["no JSON", "hello s3cret", /printed no ExecCredential/],
  [
    "another version",
    printed({ token: "s3cret" }, "client.authentication.k8s.io/v1beta1"),
    /printed apiVersion/,
  ],
  ["nothing of use", printed({}), /neither a token nor a certificate/],
  ["a bad time", printed({ token: "s3cret", expirationTimestamp: "soon" }), /the expirationTimestamp "soon"/],
];

for (const [what, stdout, expected] of answers) {
  test(`a plugin that prints ${what} is an error without the token`, async () => {
    const plugin = { apiVersion, command: "p", args: [], env: {}, provideClusterInfo: false };
    const source = execCredentialSource(plugin, { env: {}, run: () => Promise.resolve(stdout) });
    await assert.rejects(source.get(), (error: Error) => {
      assert.match(error.message, expected);
      return !error.message.includes("s3cret");
    });
  });
}

test("a plugin of a removed API version is refused", () => {
  const plugin = {
    apiVersion: "client.authentication.k8s.io/v1alpha1",
    command: "p",
    args: [],
    env: {},
    provideClusterInfo: false,
  };
  assert.throws(() => execCredentialSource(plugin, { env: {} }), /v1alpha1" is not supported/);
});
