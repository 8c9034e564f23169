/** `kubectl ncapp logs` with a fake API server and the agent's real TLS listener. */
import assert from "node:assert/strict";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { endpointAddresses } from "../../../src/cli/agent-api/node-endpoint.ts";
import { pluginCommands } from "../../../src/cli/plugin/plugin.ts";
import { type Authorize, createServerApp } from "../../../src/server/app.ts";
import { listenOnPort, listenWithTLS } from "../../../src/server/listen/listen.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { freePort } from "../../harness/free-port.ts";
import { ca, server as pair } from "../../kube/access/certificates.ts";
import { json, refuse, withServer } from "../../kube/fake-server.ts";
import { listeners, servicesWith, viewWith, web } from "../../server/fake-agent.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { call, type Output } from "../call.ts";

interface Scene {
  folder: string;
  port: number;
  /** The tokens that the agent received. */
  tokens: string[];
  append(text: string): Promise<void>;
  /** Calls `kubectl ncapp logs`, trusting the agent's CA. */
  logs(...words: string[]): Promise<Output>;
  begin(words: string[], signal?: AbortSignal): { output: Output; done: Promise<Output> };
}

const ncapp = (name: string, nodeName?: string) => ({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: { name, namespace: "default" },
  spec: { shellFile: "/srv/web.sh", nodeName },
  status: nodeName ? {} : { message: "0/1 nodes are available" },
});
const node = {
  kind: "Node",
  metadata: { name: "edge-7" },
  status: {
    addresses: [{ type: "Hostname", address: "edge-7.invalid" }, {
      type: "InternalIP",
      address: "127.0.0.1",
    }],
  },
};

async function inScene(
  use: (scene: Scene) => Promise<void>,
  { user = { token: "good" } as object, mayReadNodes = true, host = "127.0.0.1" } = {},
): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  const file = (name: string) => join(folder, name);
  await writeFile(file("tls.crt"), pair.cert);
  await writeFile(file("tls.key"), pair.key);
  await writeFile(file("ca.crt"), ca);
  await writeFile(file("app.log"), "one\ntwo\nthree\n");
  const view = viewWith({
    app: (_, name) => name === "web" ? { ...web, logFile: file("app.log") } : undefined,
  });
  const tokens: string[] = [];
  const authorize: Authorize = (token) => {
    tokens.push(token);
    return listeners.tls.authorize(token);
  };
  const listener = await listenWithTLS(
    createServerApp({ kind: "tls", authorize }, servicesWith({ view })),
    `${host}:0`,
    { certFile: file("tls.crt"), keyFile: file("tls.key") },
    { log: silentLogger },
  );
  const port = Number(new URL(listener.address).port);
  try {
    await withServer(({ path }, response) => {
      const name = /\/ncapps\/(.+)$/.exec(path)?.[1];
      if (path === "/api/v1/nodes/edge-7") {
        return mayReadNodes ? json(response, node) : refuse(response, 403, "Forbidden", "not for you");
      }
      if (name === "web" || name === "elsewhere") return json(response, ncapp(name, "edge-7"));
      if (name === "waiting") return json(response, ncapp(name));
      refuse(response, 404, "NotFound", "not found");
    }, async (server) => {
      const clusters = [{ name: "k", cluster: { server: server.url } }];
      const contexts = [{ name: "c", context: { cluster: "k", user: "u" } }];
      const kubeconfig = { "current-context": "c", clusters, contexts, users: [{ name: "u", user }] };
      await writeFile(file("config"), JSON.stringify(kubeconfig));
      const begin: Scene["begin"] = (words, signal = new AbortController().signal) =>
        call(["logs", ...words], {
          table: pluginCommands,
          program: "kubectl ncapp",
          env: { KUBECONFIG: file("config") },
          signal,
        });
      await use({
        folder,
        port,
        tokens,
        append: (text) => appendFile(file("app.log"), text),
        begin,
        logs: (...words) =>
          begin([
            ...words,
            "--agent-ca",
            file("ca.crt"),
            ...(words.includes("--agent") ? [] : ["--agent", `:${port}`]),
          ])
            .done,
      });
    });
  } finally {
    await listener.close();
  }
}

test("kubectl ncapp logs prints the log from the app's node, all of it or its last lines", () =>
  inScene(async ({ logs }) => {
    assert.deepEqual(await logs("web"), { code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
    assert.deepEqual(await logs("default/web", "--tail", "1"), { code: 0, stdout: "three\n", stderr: "" });
  }));

test("kubectl ncapp logs -f keeps printing until Ctrl-C, which is not an error", () =>
  inScene(async ({ begin, append, folder, port }) => {
    const ctrlC = new AbortController();
    const words = [
      "web",
      "-f",
      "--tail",
      "1",
      "--agent",
      `127.0.0.1:${port}`,
      "--agent-ca",
      join(folder, "ca.crt"),
    ];
    const { output, done } = begin(words, ctrlC.signal);
    await waitFor("the last line", () => output.stdout === "three\n");
    await append("four\n");
    await waitFor("the next line", () => output.stdout === "three\nfour\n");
    ctrlC.abort();
    assert.deepEqual(await done, { code: 0, stdout: "three\nfour\n", stderr: "" });
  }));

test("an address that does not answer with TLS prints the lines for the node's config", () =>
  inScene(async ({ logs }) => {
    const closed = await freePort();
    const { code, stderr } = await logs("web", "--agent", `:${closed}`);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`no agent answers with TLS at https://127\\.0\\.0\\.1:${closed} \\(ECONNREFUSED\\)`),
    );
    assert.match(
      stderr,
      new RegExp(
        `config\\.yaml on edge-7[^]*\n {2}listen: "127\\.0\\.0\\.1:10268,127\\.0\\.0\\.1:${closed}"\n {2}tls-cert-file`,
      ),
    );
    const plain = await listenOnPort(createServerApp(listeners.loopback, servicesWith()), "127.0.0.1:0");
    assert.match(
      (await logs("web", "--agent", new URL(plain.address).host)).stderr,
      /no agent answers with TLS/,
    );
    await plain.close();
  }));

test("a token is not sent to a server whose certificate is untrusted or for another name", async () => {
  await inScene(async ({ begin, tokens, port }) => {
    const { code, stderr } = await begin(["web", "--agent", `127.0.0.1:${port}`]).done;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted: name its CA with --agent-ca FILE/,
    );
    assert.deepEqual(tokens, []);
  });
  await inScene(async ({ logs, tokens, port }) => {
    const { stderr } = await logs("web", "--agent", `127.0.0.2:${port}`);
    assert.match(
      stderr,
      /certificate of https:\/\/127\.0\.0\.2:\d+ is for another name: use one of its names/,
    );
    assert.deepEqual(tokens, []);
  }, { host: "127.0.0.2" });
});

test("a refusal of the agent is printed with what to do", async () => {
  await inScene(async ({ logs, folder }) => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "weak\n");
    assert.match(
      (await logs("web", "--token-file", tokenFile)).stderr,
      /the agent of edge-7 refused: the token may not get nodes\/proxy; an admin may grant it: kubectl create clusterrole/,
    );
    await writeFile(tokenFile, "nobody's\n");
    assert.match(
      (await logs("web", "--token-file", tokenFile)).stderr,
      /edge-7 refused: the token is unknown; it checks tokens/,
    );
    assert.match(
      (await logs("elsewhere")).stderr,
      /edge-7 refused: ncapps "default\/elsewhere" not found on node/,
    );
  });
});

test("an app without a node, a kubeconfig without a token and an unreadable Node are errors that name what is missing", async () => {
  await inScene(async ({ logs }) => {
    assert.match(
      (await logs("waiting")).stderr,
      /default\/waiting has no node yet \(0\/1 nodes are available\), so it has no log/,
    );
    assert.match(
      (await logs("web", "--agent", "a:b:c")).stderr,
      /--agent "a:b:c": use HOST, HOST:PORT or :PORT/,
    );
  });
  await inScene(async ({ logs }) => {
    assert.match(
      (await logs("web")).stderr,
      /accepts bearer tokens, and this kubeconfig has none: name one with --token-file/,
    );
  }, { user: {} });
  await inScene(async ({ logs, port }) => {
    assert.match(
      (await logs("web")).stderr,
      /you may not get the Node edge-7, .*: name the address with --agent HOST:PORT/,
    );
    assert.equal((await logs("web", "--agent", `localhost:${port}`)).code, 0);
  }, { mayReadNodes: false });
});

test("endpointAddresses() returns the addresses of a Node, internal ones first, with the default port", () => {
  const addresses = [
    { type: "Hostname", address: "edge-7" },
    { type: "ExternalIP", address: "203.0.113.7" },
    { type: "InternalIP", address: "fd00::7" },
  ];
  const found = { ...node, status: { addresses } };
  assert.deepEqual(endpointAddresses(found), ["[fd00::7]:10268", "203.0.113.7:10268", "edge-7:10268"]);
  assert.deepEqual(endpointAddresses(found, ":443"), ["[fd00::7]:443", "203.0.113.7:443", "edge-7:443"]);
  assert.deepEqual(endpointAddresses(found, "[::1]"), ["[::1]:10268"]);
});
