/** `kubectl ncapp logs` and `exec` with a fake API server, which is all that they speak to. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pluginCommands } from "../../../src/cli/plugin/plugin.ts";
import { kubeconfig } from "../../kube/access/kubeconfigs.ts";
import { type Answer, json, refuse, withServer } from "../../kube/fake-server.ts";
import { ncapp, objectMeta } from "../../builders.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { call, type Output } from "../call.ts";

interface Scene {
  folder: string;
  begin(words: string[], signal?: AbortSignal): { output: Output; done: Promise<Output> };
  run(...words: string[]): Promise<Output>;
  /** The requests of logs so far, with their queries. */
  asked(): string[];
}

const owner = (uid: string) => ({ apiVersion: "app.example.com/v1alpha1", kind: "NCApp", name: "web", uid });
const pod = (name: string, ownerUid: string) => ({
  metadata: { ...objectMeta(name), namespace: "shop", ownerReferences: [owner(ownerUid)] },
});
const podList = {
  apiVersion: "v1",
  kind: "PodList",
  metadata: { resourceVersion: "9" },
  items: [pod("web", "uid-of-an-earlier-app"), pod("web-1a2b3", "uid-web"), pod("other", "uid-other")],
};
const appNamed = (name: string) =>
  ncapp({
    metadata: { name, namespace: "shop" },
    spec: name === "waiting" ? {} : { nodeName: "edge-7" },
    status: name === "waiting" ? { message: "0/1 nodes are available" } : {},
  });

async function inScene(answerLog: Answer, use: (scene: Scene) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const file = (name: string) => join(temp.path, name);
  await withServer((request, response, index) => {
    const { path } = request;
    const name = /\/ncapps\/(.+)$/.exec(path)?.[1];
    if (name && name !== "unknown") return json(response, appNamed(name));
    if (path === "/api/v1/namespaces/shop/pods") return json(response, podList);
    if (path.endsWith("/log")) return answerLog(request, response, index);
    refuse(response, 404, "NotFound", "not found");
  }, async (server) => {
    await writeFile(file("config"), kubeconfig("token: token-of-the-kubeconfig", `server: "${server.url}"`));
    // Writes down how it was called.
    const kubectl = `#!/bin/sh\nprintf '%s\\n' "$@" >'${file("called")}'\nexit 7\n`;
    await writeFile(file("kubectl"), kubectl, { mode: 0o755 });
    const begin: Scene["begin"] = (words, signal = new AbortController().signal) =>
      call(words, {
        table: pluginCommands,
        program: "kubectl ncapp",
        env: { KUBECONFIG: file("config"), PATH: `${temp.path}:/usr/bin:/bin` },
        signal,
      });
    await use({
      folder: temp.path,
      begin,
      run: (...words) => begin(words).done,
      asked: () =>
        server.requests.filter(({ path }) => path.includes("/pods"))
          .map(({ path, query }) => `${path.replace("/api/v1/namespaces/", "")}?${query}`),
    });
  });
}

const plain: Answer = (_, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  response.end("one\ntwo\n");
};

test("kubectl ncapp logs asks the API server for the log of the Pod that belongs to the app, whatever its name", () =>
  inScene(plain, async ({ run, asked }) => {
    assert.deepEqual(await run("logs", "web"), { code: 0, stdout: "one\ntwo\n", stderr: "" });
    assert.deepEqual(asked(), [
      "shop/pods?limit=500&fieldSelector=spec.nodeName%3Dedge-7",
      "shop/pods/web-1a2b3/log?container=app",
    ]);
  }));

test("kubectl ncapp logs passes the flags of kubectl logs on", () =>
  inScene(plain, async ({ run, asked }) => {
    await run(
      "logs",
      "web",
      "--tail",
      "5",
      "--since",
      "90s",
      "--previous",
      "--timestamps",
      "--limit-bytes",
      "100",
    );
    await run("logs", "web", "--since-time", "2030-01-01T00:00:00+01:00");
    assert.deepEqual(asked().filter((path) => path.includes("/log")), [
      "shop/pods/web-1a2b3/log?container=app&tailLines=5&sinceSeconds=90&previous=true&timestamps=true&limitBytes=100",
      "shop/pods/web-1a2b3/log?container=app&sinceTime=2030-01-01T00%3A00%3A00%2B01%3A00",
    ]);
  }));

test("kubectl ncapp logs -f prints what arrives until the user ends it", () =>
  inScene((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("one\n");
  }, async ({ begin, asked }) => {
    const ending = new AbortController();
    const { output, done } = begin(["logs", "-f", "web"], ending.signal);
    await waitFor("the first line", () => output.stdout === "one\n");
    ending.abort();
    assert.deepEqual(await done, { code: 0, stdout: "one\n", stderr: "" });
    assert.match(asked().at(-1) ?? "", /follow=true/);
  }));

test("kubectl ncapp logs says what the API server says, and why there is no Pod", () =>
  inScene(
    (_, response) => refuse(response, 403, "Forbidden", 'cannot get resource "pods/log"'),
    async ({ run }) => {
      assert.match((await run("logs", "web")).stderr, /403 Forbidden: cannot get resource "pods\/log"/);
      assert.match((await run("logs", "web", "--token-file", "x")).stderr, /unknown flag --token-file/);
      assert.match((await run("logs", "waiting")).stderr, /has no node yet \(0\/1 nodes are available\)/);
      const { code, stderr } = await run("logs", "podless");
      assert.equal(code, 1);
      assert.match(stderr, /shop\/podless has no Pod[^]*on edge-7[^]*--pods never/);
    },
  ));

test("kubectl ncapp exec runs kubectl exec with the app's Pod and the same connection, and exits with its code", () =>
  inScene(plain, async ({ run, folder }) => {
    const called = async () => (await readFile(join(folder, "called"), "utf8")).trimEnd().split("\n");
    const config = join(folder, "config");
    assert.equal(
      (await run("exec", "-it", "--kubeconfig", config, "--context", "c", "web", "--", "sh", "-c", "x")).code,
      7,
    );
    assert.deepEqual(await called(), [
      "exec",
      `--kubeconfig=${config}`,
      "--context=c",
      "--namespace=shop",
      "--container=app",
      "--stdin",
      "--tty",
      "web-1a2b3",
      "--",
      "sh",
      "-c",
      "x",
    ]);
    assert.equal((await run("exec", "web", "ls", "-t")).code, 7);
    assert.deepEqual((await called()).slice(-3), ["--", "ls", "-t"]);
    const { code, stderr } = await run("exec", "web");
    assert.deepEqual([code, /no command is given/.test(stderr)], [2, true]);
  }));
