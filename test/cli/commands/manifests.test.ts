import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { loadAll } from "js-yaml";
import { kubeconfig } from "../../kube/access/kubeconfigs.ts";
import { json, withServer } from "../../kube/fake-server.ts";
import { tempFolder } from "../../temp-folder.ts";
import { call } from "../call.ts";

async function manifests(words: string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await call(["manifests", ...words], { env }).done;
  assert.equal(code, 0, stderr);
  const kinds = loadAll(stdout).map((document) => (document as { kind: string }).kind);
  return { kinds: [...new Set(kinds)], stderr };
}

async function createHome(t: TestContext): Promise<string> {
  const home = tempFolder(t).path;
  await mkdir(join(home, ".kube"));
  return home;
}

const kubeconfigOf = (server: string) => kubeconfig("", `server: "${server}"`);

const withVersion = (minor: string, use: (url: string) => Promise<void>) =>
  withServer((_, response) => json(response, { gitVersion: `v1.${minor}`, minor }), ({ url }) => use(url));

const noDeployment = "the Deployment of the controllers is left out: add it with --image IMAGE";

test("manifests are for current servers, unless the server is older", async (t) => {
  const HOME = await createHome(t);
  const { kinds } = await manifests(["--server-minor", "30"], { HOME });
  assert.ok(kinds.includes("CustomResourceDefinition") && kinds.includes("ClusterRole"), kinds.join());
  assert.ok(!kinds.includes("ValidatingAdmissionPolicy") && !kinds.includes("Deployment"), kinds.join());
  assert.ok((await manifests([], { HOME })).kinds.includes("ValidatingAdmissionPolicy"));
  const full = await manifests(["--server-minor", "34"], { HOME });
  assert.ok(full.kinds.includes("ValidatingAdmissionPolicy") && !full.kinds.includes("Deployment"));
  assert.equal(full.stderr, `nckubelet: ${noDeployment}\n`);
  const image = await manifests(["--server-minor", "34", "--image", "example.com/nckubelet:1"], { HOME });
  assert.ok(image.kinds.includes("Deployment"));
  assert.equal(image.stderr, "");
});

test("manifests say where agents may show apps as Pods", async () => {
  const text = async (...words: string[]) =>
    (await call(["manifests", "--server-minor", "34", ...words]).done).stdout;
  const binding = /kind: ClusterRoleBinding\nmetadata:\n +name: "?nckubelet-pods/;
  assert.match(await text(), binding);
  assert.match(await text(), /with the label app\.example\.com\/pods=false/);
  assert.match(await text("--pods", "labelled"), /without the label app\.example\.com\/pods=true/);
  assert.doesNotMatch(await text("--pods", "never"), binding);
  const { code, stderr } = await call(["manifests", "--server-minor", "34", "--pods", "always"]).done;
  assert.equal(code, 2);
  assert.match(stderr, /--pods "always"/);
});

test("manifests asks the server for its version", async (t) => {
  const HOME = await createHome(t);
  await withVersion("31+", async (url) => {
    const { kinds, stderr } = await manifests(["--server", url], { HOME });
    assert.ok(kinds.includes("ValidatingAdmissionPolicy"));
    assert.equal(stderr, `nckubelet: ${noDeployment}\n`);
  });
  const gone = await call(["manifests", "--server", "http://127.0.0.1:1"]).done;
  assert.deepEqual([gone.code, gone.stdout], [1, ""]);
});

test("manifests asks the server of kubectl by default: that of KUBECONFIG, else of the home folder", async (t) => {
  const HOME = await createHome(t);
  const [own, other] = [join(HOME, ".kube/config"), join(HOME, "other")];
  await withVersion("31", async (recent) => {
    await writeFile(own, kubeconfigOf(recent));
    const { kinds, stderr } = await manifests([], { HOME, KUBECONFIG: "" });
    assert.ok(kinds.includes("ValidatingAdmissionPolicy"), kinds.join());
    assert.equal(stderr, `nckubelet: ${noDeployment}\n`);
    await withVersion("20", async (old) => {
      await writeFile(other, kubeconfigOf(old));
      const { kinds, stderr } = await manifests([], { HOME, KUBECONFIG: `${other}:${own}` });
      assert.ok(!kinds.includes("ValidatingAdmissionPolicy"), kinds.join());
      assert.equal(stderr, `nckubelet: ${noDeployment}\n`);
    });
  });
});

test("manifests reports in one line which servers it assumes if none answers, and what to do about others", async (t) => {
  const HOME = await createHome(t);
  const left =
    "these manifests are for API servers 1.31 and later; for an older one, use --server-minor N or --kubeconfig FILE";
  const bare = await manifests([], { HOME });
  assert.ok(
    bare.stderr.startsWith(`nckubelet: cannot read kubeconfig ${HOME}/.kube/config: no such file`),
    bare.stderr,
  );
  assert.ok(bare.stderr.endsWith(`: ${left}; ${noDeployment}\n`), bare.stderr);
  assert.equal(bare.stderr.split("\n").length, 2, bare.stderr);

  await writeFile(join(HOME, ".kube/config"), kubeconfigOf("http://127.0.0.1:1"));
  const gone = await manifests(["--image", "example.com/nckubelet:1"], { HOME });
  assert.match(gone.stderr, /^nckubelet: GET http:\/\/127\.0\.0\.1:1\/version: /);
  assert.ok(gone.stderr.endsWith(`: ${left}\n`), gone.stderr);
  assert.equal(gone.stderr.split("\n").length, 2, gone.stderr);
});
