import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { createAgentClient } from "../../../src/cli/agent-api/agent-api.ts";
import { AgentError, askAgent, noAgentHint, streamFromAgent } from "../../../src/cli/agent-api/ask-agent.ts";
import { systemSocket } from "../../../src/cli/config/config.ts";
import { tempFolder } from "../../temp-folder.ts";

/** Serves a unix socket while `use` runs. */
async function withSocket(listener: RequestListener, use: (socket: string) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const socket = join(temp.path, "agent.sock");
  const server = createServer(listener);
  await once(server.listen(socket), "listening");
  try {
    await use(socket);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("askAgent() sends JSON and returns the JSON of the answer", () =>
  withSocket(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method, url, headers } = request;
    response.writeHead(201).end(JSON.stringify({ method, url, type: headers["content-type"], body }));
  }, async (socket) => {
    assert.deepEqual(await askAgent(socket, "/apps/a/b", { method: "PUT", body: { ü: 1 } }), {
      method: "PUT",
      url: "/apps/a/b",
      type: "application/json",
      body: '{"ü":1}',
    });
  }));

test("askAgent() throws the message of a refusal with its status", () =>
  withSocket((request, response) => {
    response.writeHead(request.url === "/bare" ? 503 : 409).end(
      request.url === "/bare" ? "" : '{"message":"it is a mirror"}',
    );
  }, async (socket) => {
    await assert.rejects(askAgent(socket, "/apps"), (error) => {
      assert.ok(error instanceof AgentError);
      assert.deepEqual([error.status, error.message], [409, "it is a mirror"]);
      return true;
    });
    await assert.rejects(askAgent(socket, "/bare"), /the agent answered 503 to GET \/bare/);
  }));

test("askAgent() recognizes a server that is not an agent", () =>
  withSocket((_, response) => void response.end("<html>"), async (socket) => {
    await assert.rejects(askAgent(socket, "/apps"), /agent\.sock is not an agent: it answered "<html>"/);
  }));

test("streamFromAgent() ends with its signal, and reports a connection that the agent closes", () =>
  withSocket((_, response) => void response.write("one\n"), async (socket) => {
    const leaving = new AbortController();
    const pieces: string[] = [];
    for await (const bytes of streamFromAgent(socket, "/logs", leaving.signal)) {
      pieces.push(new TextDecoder().decode(bytes));
      leaving.abort("SIGINT");
    }
    assert.deepEqual(pieces, ["one\n"]);
    await withSocket(
      (_, response) => void response.write("one\n", () => response.destroy()),
      async (socket) => {
        await assert.rejects(async () => {
          for await (const _ of streamFromAgent(socket, "/logs", new AbortController().signal));
        }, /the agent at .*agent\.sock closed the connection: /);
      },
    );
  }));

test("a watch of an app works with an agent that has no place for it", async () => {
  const states = async (socket: string) => {
    const found: unknown[] = [];
    const { signal } = new AbortController();
    for await (
      const app of createAgentClient(socket).watch({ namespace: "default", name: "web" }, signal)
    ) found.push(app);
    return found;
  };
  const watch = '{"type":"ADDED","object":{"kind":"NCApp"}}\n{"type":"DELETED","object":{}}\n';
  await withSocket((_, response) => void response.end(watch), async (socket) => {
    assert.deepEqual(await states(socket), [{ kind: "NCApp" }, undefined]);
  });
  const full: RequestListener = ({ url }, response) =>
    void response.writeHead(url?.endsWith("?watch=true") ? 429 : 200).end('{"kind":"NCApp"}');
  await withSocket(full, async (socket) => {
    assert.deepEqual(await states(socket), [{ kind: "NCApp" }], "too many clients");
  });
  await withSocket((_, response) => void response.writeHead(404).end("{}"), async (socket) => {
    assert.deepEqual(await states(socket), [undefined], "gone");
  });
});

test("askAgent() says how to start an agent, with and without a cluster", {
  skip: existsSync(systemSocket) && "the error names the agent of this machine instead",
}, async () => {
  await assert.rejects(
    askAgent("/nowhere/none.sock", "/status"),
    /'nckubelet agent' \('nckubelet agent --standalone' without a cluster\)/,
  );
});

test("without an agent at the socket, the hint names the machine's own if the caller may use it, else sudo", () => {
  const hint = (access: "none" | "denied" | "allowed") => noAgentHint("/tmp/other.sock", () => access);
  assert.equal(hint("allowed"), `the agent of this machine uses ${systemSocket}: name it with --socket`);
  assert.equal(hint("denied"), "the agent of this machine runs as root: try again with sudo");
  assert.match(hint("none"), /^start one with /);
  assert.match(noAgentHint(systemSocket, () => "allowed"), /^start one with /);
});
