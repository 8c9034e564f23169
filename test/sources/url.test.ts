import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { LastKnown, SourceProblem } from "../../src/sources/source.ts";
import { createUrlSource } from "../../src/sources/url.ts";
import { waitFor } from "../wait-for.ts";

const manifest = (name: string, fields = "") =>
  `apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: ${name}}\nspec: {shellFile: /opt/${name}.sh${fields}}\n`;

/** A source that follows a server which answers as `answer` says now. */
async function follow(first: RequestListener, lastKnown: LastKnown[] = []) {
  let answer = first;
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(
    `http://user:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}/apps.yaml?token=hunter2`,
  );
  const source = createUrlSource(url, { periodMs: 5, timeoutMs: 2000, lastKnown: () => lastKnown });
  const stop = new AbortController();
  let names: string[] | undefined;
  let problems: SourceProblem[] = [];
  const running = source.run({
    replace: (list) => void (names = list.map(({ app }) => app.metadata.name)),
    upsert: () => assert.fail("a URL is always read whole"),
    remove: () => assert.fail("a URL is always read whole"),
    trouble: (list) => void (problems = list),
  }, stop.signal);
  return {
    source,
    names: () => names,
    problems: () => problems,
    see: (...wanted: string[]) => waitFor(`${wanted}`, () => names?.join() === wanted.join()),
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

test("trouble of any kind keeps the apps and is told without the secrets of the address", async () => {
  await using seen = await follow(text(manifest("one")));
  await seen.see("one");
  const troubles: Record<string, RequestListener> = {
    "500": (_request, response) => void response.writeHead(500).end(),
    "404": (_request, response) => void response.writeHead(404).end(),
    "a redirect": (_request, response) =>
      void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    "a cut body": (_request, response) => {
      response.writeHead(200, { "content-length": "1000" }).write("apiVersion:");
      setImmediate(() => response.destroy());
    },
    "HTML": text("<!doctype html><title>Log in</title>"),
    "too much": text("#".repeat(2 ** 20 + 1)),
  };
  for (const [what, answer] of Object.entries(troubles)) {
    await seen.answerWith(answer);
    assert.deepEqual([seen.names(), seen.source.health().ready], [["one"], false], what);
    assert.match(seen.problems()[0]?.message ?? "", /^http:\/\/127\.0\.0\.1:\d+\/apps\.yaml: /, what);
    assert.ok(!JSON.stringify(seen.problems()).includes("hunter2"), what);
  }
});

test("a broken app keeps its last good version, also the one that an earlier agent knew", async () => {
  const known = {
    apiVersion: "app.example.com/v1alpha1" as const,
    kind: "NCApp" as const,
    metadata: { name: "one", namespace: "default" },
    spec: {},
  };
  await using seen = await follow(text(`${manifest("one", ", cpuPCT: 200")}---\n${manifest("two")}`), [{
    app: known,
  }]);
  await seen.see("two", "one");
  assert.match(seen.problems()[0]?.message ?? "", /spec\.cpuPCT/);
});

test("a server that is back with 304 takes the old trouble back, and leaves what is wrong with the text", async () => {
  const withTag = (body: string): RequestListener => (request, response) => {
    if (request.headers["if-none-match"] === '"1"') return void response.writeHead(304).end();
    response.writeHead(200, { etag: '"1"' }).end(body);
  };
  const broken: RequestListener = (_request, response) => void response.writeHead(500).end();
  for (
    const [body, wrong, message] of [
      [manifest("one"), [], /^unchanged at /],
      [`${manifest("one")}---\n${manifest("two", ", cpuPCT: 200")}`, [/spec\.cpuPCT/], /^1 problems at /],
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
