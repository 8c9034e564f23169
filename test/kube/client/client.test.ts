import assert from "node:assert/strict";
import { test } from "node:test";
import { createKubeClient, type KubeRequest, type RequestReport } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { loadAccess } from "../../../src/kube/access/access.ts";
import { type Answer, json, refuse, withClient, withServer } from "../fake-server.ts";

const path = "/apis/app.example.com/v1alpha1/ncapps";

/** Returns the KubeError of a request that must fail. */
async function failure(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.then(() => assert.fail("it did not fail"), (error) => error);
  assert.ok(error instanceof KubeError, String(error));
  return error;
}

test("request() sends method, path, query, body and type, and returns the object", async () => {
  await withClient((_, response) => json(response, { ok: true }), async (client, server) => {
    const query = { fieldManager: "a&b", force: true, none: undefined };
    assert.deepEqual(await client.request({ method: "PATCH", path: `${path}/x`, query, body: { a: "ü" } }), {
      ok: true,
    });
    const [request] = server.requests;
    assert.equal(request!.method, "PATCH");
    assert.equal(request!.path, `${path}/x`);
    assert.deepEqual([...request!.query], [["fieldManager", "a&b"], ["force", "true"]]);
    assert.equal(request!.body, '{"a":"ü"}');
    assert.equal(request!.headers["content-type"], "application/merge-patch+json");
    assert.equal(request!.headers["user-agent"], "nckubelet");
  });
});

test("request() prefixes its path with the path of the server", async () => {
  await withServer((_, response) => json(response, {}), async ({ url, requests }) => {
    const client = createKubeClient(await loadAccess({ server: `${url}/k8s/clusters/c-1/` }));
    await client.request({ path: "/version" });
    assert.equal(requests[0]!.path, "/k8s/clusters/c-1/version");
    client.close();
  });
});

test("sequential requests reuse the same few connections", async () => {
  await withClient((_, response) => json(response, {}), async (client, server) => {
    for (let i = 0; i < 20; i++) await client.request({ path });
    const used = new Set(server.requests.map(({ connection }) => connection));
    assert.ok(used.size <= 2, `${used.size} connections for 20 requests`);
  });
});

test("a refusal names the request, the server, the status and the server's message", async () => {
  const answer: Answer = (_, response) => refuse(response, 403, "Forbidden", "user cannot list ncapps");
  await withClient(answer, async (client, server) => {
    const error = await failure(client.request({ path, query: { limit: 5, continue: "long-token" } }));
    assert.equal(error.message, `GET ${server.url}${path}?limit=5: 403 Forbidden: user cannot list ncapps`);
    assert.deepEqual([error.status, error.reason], [403, "Forbidden"]);
  });
});

const raw = (type: string, body: string, status = 200): Answer => (_, response) => {
  response.writeHead(status, { "content-type": type }).end(body);
};

const faults: [
  what: string,
  Answer,
  expected: RegExp,
  reason: string,
  status?: number,
  timeoutMs?: number,
][] = [
  [
    "HTML instead of an object",
    raw("text/html", "<html>\n<h1>Please log in</h1>"),
    /200 BadAnswer: not JSON but text\/html: <html> <h1>Please log in/,
    "BadAnswer",
    200,
  ],
  [
    "an HTML error page of a proxy",
    raw("text/html", "<h1>Bad Gateway</h1>", 502),
    /502 BadGateway: <h1>Bad Gateway/,
    "BadGateway",
    502,
  ],
  [
    "cut JSON",
    raw("application/json", '{"kind":"NCAppList","items":[{'),
    /cut or broken JSON of 30 characters/,
    "BadAnswer",
    200,
  ],
  ["an empty body", raw("application/json", ""), /an empty body/, "BadAnswer", 200],
  ["JSON that is no object", raw("application/json", "null"), /no object but null/, "BadAnswer", 200],
  [
    "an error without a message",
    raw("application/json", "", 500),
    /500 InternalError: no message/,
    "InternalError",
    500,
  ],
  [
    "an answer without end",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write("x".repeat(8192)), 1);
      response.on("close", () => clearInterval(timer));
    },
    /larger than 65536 bytes/,
    "TooLarge",
    200,
  ],
  ["headers that never come", () => {}, /no answer within 50 ms/, "Timeout", undefined, 50],
  [
    "a body that stops half way",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"kind":');
    },
    /no complete answer within 1000 ms/,
    "Timeout",
    200,
  ],
  [
    "a connection cut before the answer",
    (_, response) => response.socket!.destroy(),
    /GET http:\S+: \w/,
    "Unreachable",
  ],
  [
    "a connection cut inside the answer",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"kind":', () => response.socket!.destroy());
    },
    /the answer broke off: \w/,
    "Unreachable",
    200,
  ],
];

for (const [what, answer, expected, reason, status, timeoutMs = 1000] of faults) {
  test(`request() reports ${what}`, async () => {
    await withClient(answer, async (client) => {
      const error = await failure(client.request({ path }));
      assert.match(error.message, expected);
      assert.deepEqual([error.reason, error.status], [reason, status]);
    }, { timeoutMs, maxBodyBytes: 65_536 });
  });
}

test("request() reports a server that does not exist", async () => {
  const url = await withServer(() => {}, ({ url }) => Promise.resolve(url));
  const error = await failure(createKubeClient(await loadAccess({ server: url })).request({ path }));
  assert.match(error.message, /ECONNREFUSED/);
  assert.equal(error.reason, "Unreachable");
});

test("request() ends when its caller aborts it", async () => {
  const stop = new AbortController();
  await withClient(() => stop.abort(), async (client) => {
    assert.equal((await failure(client.request({ path, signal: stop.signal }))).reason, "Aborted");
    assert.equal((await failure(client.request({ path, signal: stop.signal }))).reason, "Aborted");
  });
});

test("429 with Retry-After is retried a limited number of times", async () => {
  const answer: Answer = (_, response) =>
    refuse(response, 429, "TooManyRequests", "slow down", { "retry-after": "0" });
  await withClient(answer, async (client, server) => {
    const error = await failure(client.request({ path }));
    assert.deepEqual([error.status, error.retryAfterMs, server.requests.length], [429, 0, 3]);
  }, { retries: 2 });
});

test("the caller does not see a 503 with Retry-After that passes", async () => {
  const answer: Answer = (_, response, index) =>
    index === 0
      ? refuse(response, 503, "ServiceUnavailable", "starting", { "retry-after": "0" })
      : json(response, { ok: 1 });
  await withClient(answer, async (client) => assert.deepEqual(await client.request({ path }), { ok: 1 }));
});

test("a wait that is too long, or beyond the deadline of the request, is left to the caller, who gets its length", async () => {
  for (const [seconds, timeoutMs] of [[3600, undefined], [20, 7000]] as const) {
    const answer: Answer = (_, response) =>
      refuse(response, 429, "TooManyRequests", "later", { "retry-after": `${seconds}` });
    await withClient(answer, async (client, server) => {
      assert.equal((await failure(client.request({ path, timeoutMs }))).retryAfterMs, seconds * 1000);
      assert.equal(server.requests.length, 1);
    });
  }
});

test("429 and 500 without Retry-After are not retried", async () => {
  for (const status of [429, 500]) {
    await withClient((_, response) => refuse(response, status, "Busy", "no"), async (client, server) => {
      await failure(client.request({ path }));
      assert.equal(server.requests.length, 1);
    });
  }
});

test("401 refreshes the credentials and is retried once", async () => {
  const answer: Answer = ({ headers }, response) =>
    headers.authorization === "Bearer fresh"
      ? json(response, {})
      : refuse(response, 401, "Unauthorized", "who?");
  await withServer(answer, async ({ url, requests }) => {
    let token = "stale";
    const plain = await loadAccess({ server: url });
    const { tls } = await plain.credentials();
    const credentials = async () => ({ headers: { authorization: `Bearer ${token}` }, tls });
    const refreshes = { ...plain, credentials, refresh: () => void (token = "fresh") };
    const client = createKubeClient(refreshes);
    await client.request({ path });
    assert.equal(requests.length, 2);

    const stays = createKubeClient({ ...refreshes, refresh: () => void (token = "stale") });
    token = "stale";
    const error = await failure(stays.request({ path }));
    assert.deepEqual([error.status, requests.length], [401, 4]);
    assert.doesNotMatch(error.message, /stale/);
    client.close();
    stays.close();
  });
});

test("credentials that cannot be loaded fail the request", async () => {
  const access = await loadAccess({ server: "http://127.0.0.1:1" });
  const broken = { ...access, credentials: () => Promise.reject(new Error("cannot read a token")) };
  const error = await failure(createKubeClient(broken).request({ path }));
  assert.equal(error.reason, "Credentials");
  assert.match(error.message, /GET http:\/\/127\.0\.0\.1:1\S+: cannot read a token/);
});

test("credentials that never load do not hang the request", async () => {
  const access = await loadAccess({ server: "http://127.0.0.1:1" });
  const slow = { ...access, credentials: () => new Promise<never>(() => {}) };
  const error = await failure(createKubeClient(slow).request({ path, timeoutMs: 20 }));
  assert.equal(error.reason, "Timeout");
  const giveUp = AbortSignal.abort();
  assert.equal((await failure(createKubeClient(slow).request({ path, signal: giveUp }))).reason, "Aborted");
});

test("urgent requests go first, and usage reports leave connections free", async () => {
  const open: { path: string; finish(): void }[] = [];
  const answer: Answer = ({ path }, response) => open.push({ path, finish: () => json(response, {}) });
  await withClient(answer, async (client, server) => {
    const send = (path: string, priority: KubeRequest["priority"]) => client.request({ path, priority });
    const all = [send("/low1", "low"), send("/low2", "low"), send("/normal1", undefined)];
    await until(() => open.length === 2);
    assert.deepEqual(open.map(({ path }) => path).sort(), ["/low1", "/normal1"]);
    all.push(send("/normal2", undefined), send("/high", "high"));
    while (server.requests.length < 5 || open.length > 0) {
      open.shift()?.finish();
      await until(() => open.length > 0 || server.requests.length === 5);
    }
    await Promise.all(all);
    assert.deepEqual(server.requests.slice(2).map(({ path }) => path), ["/high", "/normal2", "/low2"]);
  }, { maxInFlight: 2, reserved: 1 });
});

test("onRequest reports verb, resource and code of every exchange", async () => {
  const reports: RequestReport[] = [];
  const answer: Answer = ({ path }, response) =>
    path.endsWith("/gone") ? response.socket!.destroy() : json(response, {});
  await withClient(answer, async (client) => {
    await client.request({ path });
    await client.request({
      method: "PATCH",
      path: "/apis/app.example.com/v1alpha1/namespaces/a/ncapps/b/status",
      body: {},
    });
    await failure(client.request({ path: "/api/v1/nodes/gone" }));
    for await (const _ of await client.stream({ path, query: { watch: true } }));
    assert.deepEqual(reports.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`), [
      "list ncapps 200",
      "patch ncapps/status 200",
      "get nodes 0",
      "watch ncapps 200",
    ]);
  }, { onRequest: (report) => reports.push(report) });
});

test("stream() yields bytes as they arrive, and outlives the deadline of its headers", async () => {
  const answer: Answer = (_, response) => {
    response.writeHead(200, { "content-type": "application/json;stream=watch" });
    response.write("one");
    setTimeout(() => response.end("two"), 1100);
  };
  await withClient(answer, async (client) => {
    let text = "";
    for await (const chunk of await client.stream({ path, timeoutMs: 1000 })) {
      text += new TextDecoder().decode(chunk);
    }
    assert.equal(text, "onetwo");
  });
});

test("stream() reports slow headers, refusals, other content types and a cut connection", async () => {
  const answers: Record<string, Answer> = {
    slow: () => {},
    refused: (_, response) => refuse(response, 410, "Expired", "too old"),
    html: raw("text/html", "<h1>no</h1>"),
    cut: (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("{", () => response.socket!.destroy());
    },
  };
  // By name, not in order: on a busy machine the first request may time out before it arrives.
  await withClient(
    (request, response, index) => answers[request.query.get("case")!]!(request, response, index),
    async (client) => {
      const read = async (name: string, timeoutMs = 60_000) => {
        for await (const _ of await client.stream({ path, query: { case: name }, timeoutMs }));
      };
      assert.equal((await failure(read("slow", 50))).reason, "Timeout");
      assert.match((await failure(read("refused"))).message, /410 Expired: too old/);
      assert.match((await failure(read("html"))).message, /not JSON but text\/html: <h1>no/);
      assert.match((await failure(read("cut"))).message, /the answer broke off/);
    },
  );
});

async function until(done: () => boolean) {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 1));
}
