import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { request as requestSocket } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { openListeners } from "../../../src/agent/open-listeners.ts";
import type { AgentOptions } from "../../../src/agent/options.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { ca, server as pair } from "../../kube/access/certificates.ts";
import { json, withClient } from "../../kube/fake-server.ts";
import { tempFolder } from "../../temp-folder.ts";
import { servicesWith } from "../fake-agent.ts";
import { ask, startLocalAgent } from "../local-agent.ts";

const token = "the-token-of-the-monitors";

async function get(
  url: string,
  path: string,
  authorization?: string,
): Promise<{ status: number; text: string }> {
  const headers = authorization ? { authorization } : {};
  const call = request(`${url.replace("0.0.0.0", "127.0.0.1")}${path}`, { ca, headers, agent: false }).end();
  const [response] = await once(call, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, text };
}

test("off loopback an agent serves with TLS to who has a token, and on loopback and socket as ever", async () => {
  await using agent = await startLocalAgent({ listen: "" });
  const file = async (name: string, text: string) => {
    await writeFile(join(agent.folder, name), text, { mode: 0o600 });
    return join(agent.folder, name);
  };
  Object.assign(agent.options, {
    listen: "127.0.0.1:0, 0.0.0.0:0",
    tlsCertFile: await file("tls.crt", pair.cert),
    tlsKeyFile: await file("tls.key", pair.key),
    tokenFile: await file("tokens", token),
  });
  await agent.replace();
  const [, plain = "", outside = ""] = agent.addresses();
  assert.match(outside, /^https:\/\/0\.0\.0\.0:\d+$/);
  assert.deepEqual(await get(outside, "/healthz"), { status: 200, text: "ok" });
  assert.equal((await get(outside, "/apps")).status, 401);
  assert.equal((await get(outside, "/apps", "Bearer something-else-entirely")).status, 401);
  assert.equal((await get(outside, "/apps", `Bearer ${token}`)).status, 200);
  assert.equal((await get(outside, "/metrics", `Bearer ${token}`)).status, 200);
  assert.equal((await fetch(`${plain}/apps`)).status, 200);
  assert.equal((await ask(agent.options.socket, "GET", "/apps")).status, 200);
});

test("off loopback nothing is opened while anything is missing, and one line names all of it", async () => {
  const refused = async (fields: Partial<AgentOptions>) => {
    await using opened = new AsyncDisposableStack();
    const options = {
      socket: "",
      listen: "0.0.0.0:0",
      log: { warn() {} },
      ...fields,
    } as unknown as AgentOptions;
    return await openListeners(
      options,
      { ...servicesWith(), ports: new Map(), readPair: async () => pair },
      opened,
    ).then(
      () => "opened",
      (error: Error) => error.message,
    );
  };
  assert.equal(
    await refused({}),
    "--listen 0.0.0.0:0 is not on loopback: it needs --tls-cert-file, --tls-private-key-file, " +
      "--token-file or an API server to check tokens",
  );
  assert.match(await refused({ tlsCertFile: "/a", tokenFile: "/b" }), /it needs --tls-private-key-file$/);
  assert.match(
    await refused({ tlsCertFile: "/a", tlsKeyFile: "/b" }),
    /it needs --token-file or an API server/,
  );
  assert.match(
    await refused({ tlsCertFile: "/a", tlsKeyFile: "/b", tokenFile: "/nowhere" }),
    /--token-file \/nowhere/,
  );
  assert.match(await refused({ listen: "nonsense" }), /"nonsense" is not an address/);
});

test("off loopback an agent of a cluster serves with its own certificate, and reviews tokens", async () => {
  await using opened = new AsyncDisposableStack();
  const options = { socket: "", listen: "0.0.0.0:0", log: silentLogger } as unknown as AgentOptions;
  const parts = { ...servicesWith(), ports: new Map(), readPair: async () => pair };
  await withClient((_, response) => json(response, {}), async (client) => {
    const { addresses: [url = ""] } = await openListeners(options, { ...parts, client }, opened);
    assert.deepEqual(await get(url, "/healthz"), { status: 200, text: "ok" });
    const half = { ...options, tlsCertFile: "/a" };
    await assert.rejects(openListeners(half, { ...parts, client }, opened), /needs --tls-private-key-file$/);
  });
});

test("clients that take every place of one listener leave those of the others free", async () => {
  using temp = tempFolder();
  await using opened = new AsyncDisposableStack();
  const socket = join(temp.path, "agent.sock");
  const options = {
    socket,
    listen: "127.0.0.1:0",
    openLoopback: true,
    log: silentLogger,
  } as unknown as AgentOptions;
  const parts = { ...servicesWith(), ports: new Map(), readPair: async () => pair };
  const { addresses: [, url = ""] } = await openListeners(options, parts, opened);
  const stop = new AbortController();
  const watch = async () => {
    const { status, body } = await fetch(`${url}/apps?watch=true`, { signal: stop.signal });
    // The first line shows that the watch has its place.
    await body!.getReader().read();
    return status;
  };
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 64 }, watch))), new Set([200]));
  assert.equal(await watch(), 429);
  const call = requestSocket({ socketPath: socket, path: "/apps?watch=true", agent: false }).end();
  const [response] = await once(call, "response");
  assert.equal(response.statusCode, 200);
  call.on("error", () => {}).destroy();
  stop.abort();
});
