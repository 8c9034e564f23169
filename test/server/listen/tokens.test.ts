import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type Logger, silentLogger } from "../../../src/lib/log.ts";
import { openTokenFile, parseTokens } from "../../../src/server/listen/token-file.ts";
import { createReviewCache } from "../../../src/server/listen/review-cache.ts";
import {
  createAuthorization,
  createPathReview,
  createTokenReview,
} from "../../../src/server/listen/token-review.ts";
import { json, refuse, withClient } from "../../kube/fake-server.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

const [first, second] = ["first-token-of-the-test", "second-token-of-the-test"];

async function tokenFile(text: string) {
  const temp = tempFolder();
  const folder = temp.path;
  const path = join(folder, "tokens");
  await writeFile(path, text, { mode: 0o600 });
  return { path, [Symbol.dispose]: temp.remove };
}

function recordingLog() {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`),
  };
  return { log, lines };
}

test("a token of the file may read, any other is unknown", async () => {
  await using file = await tokenFile(`# monitors\n${first}\n\n  ${second}  \n`);
  const authorize = await openTokenFile(file.path, silentLogger);
  assert.equal(await authorize(first, "proxy"), "allowed");
  assert.equal(await authorize(second, "metrics"), "allowed");
  for (const token of ["", "# monitors", first.slice(1), `${first}x`]) {
    assert.equal(await authorize(token, "proxy"), "unknown");
  }
});

test("a changed file counts at once; one without a usable token leaves the old ones", async () => {
  await using file = await tokenFile(first);
  const { log, lines } = recordingLog();
  const authorize = await openTokenFile(file.path, log);
  await writeFile(file.path, `${second}\n`);
  assert.deepEqual([await authorize(first, "proxy"), await authorize(second, "proxy")], [
    "unknown",
    "allowed",
  ]);
  await writeFile(file.path, "short\n");
  assert.equal(await authorize(second, "proxy"), "allowed");
  assert.match(lines.join("\n"), /keeping the old tokens.*tokens:1/);
});

test("a file that cannot be used is refused at the start, by line and never by token", async () => {
  await assert.rejects(openTokenFile("/nowhere/tokens", silentLogger), /--token-file \/nowhere\/tokens/);
  assert.throws(
    () => parseTokens(`${first}\nsecret\n`, "t"),
    (error: Error) => error.message.includes("t:2:") && !error.message.includes("secret"),
  );
  assert.throws(() => parseTokens("two words that are long enough", "t"), /t:1/);
  assert.throws(() => parseTokens("# nothing\n", "t"), /holds no token/);
});

test("a warning is logged for a file that other users can read", async () => {
  await using file = await tokenFile(first);
  await chmod(file.path, 0o644);
  const { log, lines } = recordingLog();
  await openTokenFile(file.path, log);
  assert.match(lines[0] ?? "", /other users can read/);
});

test("for the controllers the API server reviews the path, and also a token for their audience", async () => {
  await withClient((request, response) => {
    const { spec } = JSON.parse(request.body);
    if (request.path.endsWith("/tokenreviews")) {
      const isKnown = spec.token === (spec.audiences?.[0] === "nckubelet-controller" ? "narrow" : "broad");
      return json(response, { status: isKnown ? { authenticated: true, user } : {} }, 201);
    }
    assert.equal(spec.resourceAttributes, undefined);
    json(response, { status: { allowed: spec.nonResourceAttributes.path === "/metrics" } }, 201);
  }, async (client) => {
    const authorize = createPathReview({ client, log: silentLogger });
    assert.equal(await authorize("broad", "/metrics"), "allowed");
    assert.equal(await authorize("narrow", "/metrics"), "allowed");
    assert.equal(await authorize("broad", "/status"), "forbidden");
    assert.equal(await authorize("nobody", "/metrics"), "unknown");
  });
});

const user = { username: "prometheus", uid: "7", groups: ["monitors"], extra: { scopes: ["a"] } };

test("the API server reviews the token and its user's access; the answers are cached", async () => {
  let now = 0;
  await withClient((request, response) => {
    const { spec } = JSON.parse(request.body);
    if (request.path.endsWith("/tokenreviews")) {
      return json(response, { status: spec.token === "good" ? { authenticated: true, user } : {} }, 201);
    }
    json(response, { status: { allowed: spec.resourceAttributes.subresource === "metrics" } }, 201);
  }, async (client, { requests }) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger, now: () => now });
    assert.equal(await authorize("good", "metrics"), "allowed");
    assert.equal(await authorize("good", "proxy"), "forbidden");
    assert.equal(await authorize("bad", "metrics"), "unknown");
    const access = JSON.parse(requests[1]!.body).spec;
    assert.deepEqual(access, {
      user: "prometheus",
      uid: "7",
      groups: ["monitors"],
      extra: { scopes: ["a"] },
      resourceAttributes: {
        verb: "get",
        version: "v1",
        resource: "nodes",
        subresource: "metrics",
        name: "node-a",
      },
    });
    const asked = requests.length;
    now = 29_000;
    await Promise.all([
      authorize("good", "metrics"),
      authorize("good", "proxy"),
      authorize("bad", "metrics"),
    ]);
    assert.equal(requests.length, asked);
    now = 119_000;
    await authorize("good", "metrics");
    assert.equal(requests.length, asked);
    now = 121_000;
    await authorize("good", "metrics");
    assert.equal(requests.length, asked + 2);
  });
});

test("a token for the audience of this node counts, and one for another node does not", async () => {
  await withClient((request, response) => {
    const { spec } = JSON.parse(request.body);
    if (!request.path.endsWith("/tokenreviews")) return json(response, { status: { allowed: true } }, 201);
    const authenticated = spec.audiences?.includes(spec.token) ?? false;
    json(response, { status: authenticated ? { authenticated, user } : {} }, 201);
  }, async (client) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger });
    assert.equal(await authorize("nckubelet:node-a", "proxy"), "allowed");
    assert.equal(await authorize("nckubelet:node-b", "proxy"), "unknown");
  });
});

test("while the API server is unreachable, a cached token stays valid and a new one is asked to retry", async () => {
  let broken = false;
  await withClient((request, response) => {
    if (broken) return refuse(response, 500, "InternalError", "no");
    json(response, {
      status: request.path.endsWith("/tokenreviews") ? { authenticated: true, user } : { allowed: true },
    });
  }, async (client) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger, now: () => 0 });
    assert.equal(await authorize("good", "proxy"), "allowed");
    broken = true;
    assert.equal(await authorize("good", "proxy"), "allowed");
    assert.equal(await authorize("other", "proxy"), "unavailable");
    broken = false;
    assert.equal(await authorize("other", "proxy"), "allowed");
  });
});

test("the same review is made once; others wait for their turn", async () => {
  const release = Promise.withResolvers<void>();
  await withClient(async (request, response) => {
    await release.promise;
    json(response, {
      status: request.path.endsWith("/tokenreviews") ? { authenticated: true, user } : { allowed: true },
    });
  }, async (client, { requests }) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger });
    const same = Promise.all([authorize("good", "proxy"), authorize("good", "proxy")]);
    const others = Promise.all(Array.from({ length: 40 }, (_, n) => authorize(`token-${n}`, "proxy")));
    release.resolve();
    assert.deepEqual(await same, ["allowed", "allowed"]);
    assert.ok((await others).every((verdict) => verdict === "allowed"));
    const reviews = requests.filter(({ path, body }) =>
      path.endsWith("/tokenreviews") && body.includes('"good"')
    );
    assert.equal(reviews.length, 1);
  });
});

test("a peer that sends unknown tokens without end keeps no other from being reviewed, and only its own are refused", async () => {
  const junk = new Set<() => void>();
  let open = false;
  await withClient(async (request, response) => {
    const { spec } = JSON.parse(request.body);
    const isJunk = spec.token?.startsWith("junk") ?? false;
    // The API server takes as long as it likes for these.
    if (isJunk && !open) await new Promise<void>((resolve) => junk.add(resolve));
    if (!request.path.endsWith("/tokenreviews")) return json(response, { status: { allowed: true } });
    json(response, { status: isJunk ? {} : { authenticated: true, user } });
  }, async (client) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger });
    const verdicts = Array.from({ length: 200 }, (_, n) => authorize(`junk-${n}`, "proxy", "10.0.0.66"));
    let settled = 0;
    for (const verdict of verdicts) void verdict.then(() => settled++);
    await waitFor("some are asked about, and too many refused", () => junk.size > 0 && settled > 0);
    const before = settled;
    assert.equal(await authorize("metrics-server", "metrics", "10.0.0.1"), "allowed");
    assert.equal(settled, before, "it did not wait for the others");
    open = true;
    for (const answer of junk) answer();
    const found = await Promise.all(verdicts);
    assert.deepEqual([...new Set(found)].sort(), ["unavailable", "unknown"]);
  });
});

test("answers about unknown tokens do not displace those about users", async () => {
  const review = createReviewCache<string>({
    log: silentLogger,
    isPositive: (answer) => answer === "user",
    now: () => 0,
  });
  let asked = 0;
  const ask = () => review("good", async () => (asked++, "user"));
  await ask();
  for (let n = 0; n < 1001; n++) await review(`junk-${n}`, async () => "unknown");
  assert.equal(await ask(), "user");
  assert.equal(asked, 1);
});

test("a clock that is set back does not extend a cached answer", async () => {
  using clock = takeMachineClock();
  await withClient((request, response) => {
    const reviewed = request.path.endsWith("/tokenreviews");
    json(response, { status: reviewed ? { authenticated: true, user } : { allowed: true } });
  }, async (client, { requests }) => {
    const authorize = createTokenReview({ client, node: "node-a", log: silentLogger, allowedMs: 1 });
    await authorize("good", "proxy");
    const asked = requests.length;
    clock.setBack(3_600_000);
    await waitFor("it is asked again", async () => {
      await authorize("good", "proxy");
      return requests.length > asked;
    }, 5000);
  });
});

test("the right to an app is asked for that app, and the right to the node for the node", async () => {
  const asked: unknown[] = [];
  const client = {
    async request({ body }: { body: { spec: { resourceAttributes: unknown } } }) {
      asked.push(body.spec.resourceAttributes);
      return { status: { allowed: true } };
    },
  } as unknown as KubeClient;
  const authorize = createAuthorization({ client, node: "node-a", log: silentLogger });
  const app = { namespace: "default", name: "web" };
  await authorize({ username: "jane" }, { verb: "create", subresource: "exec", app });
  await authorize({ username: "jane" }, { verb: "create", subresource: "proxy" });
  assert.deepEqual(asked, [
    {
      verb: "create",
      group: "app.example.com",
      version: "v1alpha1",
      resource: "ncapps",
      subresource: "exec",
      ...app,
    },
    { verb: "create", version: "v1", resource: "nodes", subresource: "proxy", name: "node-a" },
  ]);
});
