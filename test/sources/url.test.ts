import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { test } from "node:test";
import { createPulse, type Pulse } from "../../src/lib/pulse.ts";
import type { LastKnown, SourceProblem } from "../../src/sources/source.ts";
import { createUrlSource } from "../../src/sources/url.ts";
import { ncapp } from "../builders.ts";
import { serve } from "../supervisor/script/script-server.ts";
import { waitFor } from "../wait-for.ts";

const manifest = (name: string, fields = "") =>
  `apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: ${name}}\nspec: {shellFile: /opt/${name}.sh${fields}}\n`;

interface FollowOptions {
  lastKnown?: LastKnown[];
  /** As it stands in the URL. */
  credentials?: string;
  lookup?: LookupFunction;
  periodMs?: number;
  reloads?: Pulse;
}

/** A source that follows a server which answers as `answer` says now. */
async function follow(
  first: RequestListener,
  { lastKnown = [], credentials = "user:hunter2", lookup, periodMs = 5, reloads }: FollowOptions = {},
) {
  let answer = first;
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(
    `http://${credentials}@127.0.0.1:${(server.address() as AddressInfo).port}/apps.yaml?token=hunter2`,
  );
  const options = { periodMs, timeoutMs: 2000, lastKnown: () => lastKnown, lookup, reloads };
  const source = createUrlSource(url, options);
  const stop = new AbortController();
  let names: string[] | undefined;
  let problems: SourceProblem[] = [];
  const running = source.run({
    replace: (list) => void (names = list.map(({ app }) => app.metadata.name)),
    upsert: () => assert.fail("a URL is always read whole"),
    remove: () => assert.fail("a URL is always read whole"),
    reportProblems: (list) => void (problems = list),
  }, stop.signal);
  return {
    source,
    names: () => names,
    problems: () => problems,
    see: (...wanted: string[]) => waitFor(`${wanted}`, () => names?.join() === wanted.join()),
    /** Answers so from now on. */
    setAnswer: (next: RequestListener) => void (answer = next),
    /** Answers so from now on, and waits until that was asked for twice: the first has been dealt with then. */
    async answerWith(next: RequestListener) {
      answer = next;
      const from = asked;
      await waitFor("it was asked", () => asked > from + 1);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      server.close();
      server.closeAllConnections();
    },
  };
}

const text = (body: string, headers = {}): RequestListener => (_request, response) =>
  void response.writeHead(200, headers).end(body);
const redirect = (location: string): RequestListener => (_request, response) =>
  void response.writeHead(302, { location }).end();

test("what is at the URL is followed, and an answer of 304 changes nothing", async () => {
  const withTag: RequestListener = (request, response) => {
    if (request.headers["if-none-match"] === '"1"') return void response.writeHead(304).end();
    response.writeHead(200, { etag: '"1"' }).end(manifest("one"));
  };
  await using seen = await follow(withTag);
  await seen.see("one");
  await waitFor("304 is understood", () => seen.source.health().message.startsWith("unchanged"));
  await seen.answerWith(text(`${manifest("one")}---\n${manifest("two")}`));
  await seen.see("one", "two");
  await seen.answerWith(text(JSON.stringify({ apiVersion: "v1", kind: "List", items: [] })));
  await seen.see();
});

test("every kind of failure keeps the apps and is reported without the secrets of the URL", async () => {
  await using seen = await follow(text(manifest("one")));
  await seen.see("one");
  const failures: Record<string, [RegExp, RequestListener]> = {
    "500": [/status 500/, (_request, response) => void response.writeHead(500).end()],
    "404": [/status 404/, (_request, response) => void response.writeHead(404).end()],
    "a redirect to a closed port": [/ECONNREFUSED/, redirect("http://127.0.0.1:1/?token=hunter2")],
    "a redirect without a Location": [
      /redirect without a valid Location/,
      (_request, response) => void response.writeHead(302).end(),
    ],
    "a redirect without end": [/more than 5 redirects/, redirect("/apps.yaml?token=hunter2")],
    "another scheme": [
      /"https:\/\/127\.0\.0\.1:1\/": a redirect must not change the scheme/,
      redirect("https://u:hunter2@127.0.0.1:1/?hunter2"),
    ],
    "a link-local address": [
      /169\.254\.169\.254 is a link-local/,
      redirect("http://169.254.169.254/?hunter2"),
    ],
    "a cut body": [/./, (_request, response) => {
      response.writeHead(200, { "content-length": "1000" }).write("apiVersion:");
      setImmediate(() => response.destroy());
    }],
    "HTML": [/a web page/, text("<!doctype html><title>Log in</title>")],
    "too much": [/exceeds the limit/, text("#".repeat(2 ** 20 + 1))],
  };
  for (const [what, [message, answer]] of Object.entries(failures)) {
    await seen.answerWith(answer);
    await waitFor(what, () => message.test(seen.problems()[0]?.message ?? ""));
    assert.deepEqual([seen.names(), seen.source.health().ready], [["one"], false], what);
    assert.match(seen.problems()[0]?.message ?? "", /^http:\/\/127\.0\.0\.1:\d+\/apps\.yaml: /, what);
    assert.ok(!JSON.stringify(seen.problems()).includes("hunter2"), what);
  }
});

test("an API server's error with status 200 keeps the apps", async () => {
  await using seen = await follow(text(manifest("one")));
  await seen.see("one");
  await seen.answerWith(text('{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}'));
  assert.deepEqual(seen.names(), ["one"]);
  assert.match(seen.problems()[0]?.message ?? "", /Status without a name \(v1\) is not an NCApp/);
});

test("a broken app keeps its last good version, also the one that an earlier agent knew", async () => {
  const known = ncapp({ metadata: { name: "one" } });
  await using seen = await follow(text(`${manifest("one", ", cpuPCT: 200")}---\n${manifest("two")}`), {
    lastKnown: [{ app: known }],
  });
  await seen.see("two", "one");
  assert.match(seen.problems()[0]?.message ?? "", /spec\.cpuPCT/);
});

test("a server that is back with 304 withdraws the failure, and keeps the problems of the text", async () => {
  const withTag = (body: string): RequestListener => (request, response) => {
    if (request.headers["if-none-match"] === '"1"') return void response.writeHead(304).end();
    response.writeHead(200, { etag: '"1"' }).end(body);
  };
  const broken: RequestListener = (_request, response) => void response.writeHead(500).end();
  for (
    const [body, wrong, message] of [
      [manifest("one"), [], /^unchanged at /],
      [`${manifest("one")}---\n${manifest("two", ", cpuPCT: 200")}`, [/spec\.cpuPCT/], /^1 problem at /],
    ] as const
  ) {
    await using seen = await follow(withTag(body));
    await seen.see("one");
    await seen.answerWith(broken);
    assert.match(seen.problems()[0]?.message ?? "", /status 500/);
    await seen.answerWith(withTag(body));
    assert.equal(seen.problems().length, wrong.length);
    for (const [at, pattern] of wrong.entries()) assert.match(seen.problems()[at]!.message, pattern);
    assert.equal(seen.source.health().ready, true);
    assert.match(seen.source.health().message, message);
  }
});

const basic = (plain: string) => `Basic ${Buffer.from(plain).toString("base64")}`;

test("user and password of the URL are sent to its server", async () => {
  for (
    const [credentials, plain] of [["user:hunter2", "user:hunter2"], ["a%40b:p%3Aw%20d", "a@b:p:w d"], [
      "user:100%",
      "user:100%",
    ]] as const
  ) {
    const behindPassword: RequestListener = (request, response) => {
      if (request.headers.authorization !== basic(plain)) return void response.writeHead(401).end();
      response.end(manifest("one"));
    };
    await using seen = await follow(behindPassword, { credentials });
    await waitFor("an answer", () => seen.names() ?? seen.problems()[0]);
    assert.deepEqual([seen.names(), seen.problems()], [["one"], []], plain);
  }
});

test("redirects are followed, with the password within the origin and without it elsewhere", async () => {
  await using other = await serve((_request, response) => response.end(manifest("one")));
  const asked: (string | undefined)[] = [];
  await using seen = await follow((request, response) => {
    asked.push(request.headers.authorization);
    const location = request.url?.startsWith("/apps.yaml") ? "/moved.yaml" : `${other.origin}/apps.yaml`;
    response.writeHead(307, { location }).end();
  });
  await seen.see("one");
  assert.deepEqual(asked.slice(0, 2), [basic("user:hunter2"), basic("user:hunter2")]);
  assert.equal(other.requests[0]?.headers.authorization, undefined);
  assert.deepEqual(seen.problems(), []);
});

test("the server that answered after a redirect is named, without secrets", async () => {
  await using other = await serve((_request, response) => response.writeHead(403).end());
  await using seen = await follow(redirect(`${other.origin}/elsewhere?token=hunter2`));
  const { message } = await waitFor("a problem", () => seen.problems()[0]);
  assert.ok(message.endsWith(`/apps.yaml: ${other.origin}/elsewhere answered with status 403`), message);
  assert.ok(!JSON.stringify([seen.problems(), seen.source.health()]).includes("hunter2"));
});

test("a name that a redirect leads to is refused if it has a link-local address", async () => {
  const asked: string[] = [];
  const lookup: LookupFunction = (name, _options, callback) => {
    asked.push(name);
    callback(null, [{ address: "127.0.0.1", family: 4 }, { address: "169.254.169.254", family: 4 }]);
  };
  await using seen = await follow(redirect("http://metadata.test/"), { lookup });
  await waitFor("a problem", () => seen.problems().length > 0);
  assert.match(seen.problems()[0]!.message, /169\.254\.169\.254 is a link-local address/);
  assert.equal(asked[0], "metadata.test");
});

test("an ETag is sent only to the URL that it came from", async () => {
  let version = "1";
  const tags: Record<string, (string | undefined)[]> = {};
  const moving: RequestListener = (request, response) => {
    const path = request.url ?? "";
    (tags[path] ??= []).push(request.headers["if-none-match"]);
    if (path.startsWith("/apps.yaml")) {
      return void response.writeHead(302, { location: `/v${version}.yaml` }).end();
    }
    // Each address counts its texts for itself.
    if (request.headers["if-none-match"] === '"1"') return void response.writeHead(304).end();
    response.writeHead(200, { etag: '"1"' }).end(manifest(path === "/v1.yaml" ? "one" : "two"));
  };
  await using seen = await follow(moving);
  await seen.see("one");
  await waitFor("304 is understood", () => seen.source.health().message.startsWith("unchanged"));
  version = "2";
  await seen.see("two");
  assert.deepEqual(tags["/v1.yaml"]?.slice(0, 2), [undefined, '"1"']);
  assert.equal(tags["/v2.yaml"]?.[0], undefined);
  assert.ok(tags["/apps.yaml?token=hunter2"]?.every((tag) => tag === undefined));
});

test("an app that is taken out of the text stops, whatever objects of other kinds are beside it", async () => {
  const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
  await using seen = await follow(text([config, manifest("one"), manifest("two")].join("---\n")));
  await seen.see("one", "two");
  await seen.answerWith(text([config, manifest("one")].join("---\n")));
  await seen.see("one");
  assert.deepEqual(seen.problems(), []);
  assert.equal(seen.source.health().message, "1 app read, 1 object of other kinds ignored");
});

test("a reload asks at once", async () => {
  const reloads = createPulse();
  await using seen = await follow((_, response) => void response.end(manifest("old")), {
    periodMs: 3_600_000,
    reloads,
  });
  await seen.see("old");
  for (const name of ["new", "newer"]) {
    seen.setAnswer((_, response) => void response.end(manifest(name)));
    reloads.beat();
    await seen.see(name);
  }
});
