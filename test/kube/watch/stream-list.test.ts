import assert from "node:assert/strict";
import { test } from "node:test";
import {
  accept,
  type Answer,
  apiServer,
  bookmark,
  endOfList,
  errorLine,
  type FakeServer,
  isStream,
  isWatch,
  line,
  lists,
  ncapp,
  refuse,
} from "../fake-server.ts";
import { type Event, following } from "../follower.ts";

const limit = { timeout: 30_000 };

/** Follows the NCApps of node-a by streaming lists. */
const streaming: typeof following = (answer, use, options) =>
  following(answer, use, { streaming: true, ...options });

const streams = (...lines: string[]): Answer => (_, response) => accept(response, ...lines);
const breaks = (...lines: string[]): Answer => (_, response) => {
  accept(response, ...lines);
  response.write("", () => response.socket!.destroy());
};
const names = ({ items }: Event<"listed">) => items.map(({ metadata }) => metadata.name);
const kinds = ({ requests }: FakeServer) =>
  requests.map((request) => isStream(request) ? "stream" : isWatch(request) ? "watch" : "list");
const at = (resourceVersion: string) => ({ resourceVersion });

test(
  "a streaming list is one request: the objects, what changes meanwhile, their end, and the watch",
  limit,
  async () => {
    const server = apiServer({
      streams: [streams(
        line("ADDED", ncapp("a")),
        line("ADDED", ncapp("elsewhere", "node-b")),
        line("ADDED", ncapp("moved")),
        line("MODIFIED", ncapp("moved", "node-b")),
        line("ADDED", ncapp("gone")),
        line("DELETED", ncapp("gone")),
        endOfList("12"),
        line("MODIFIED", ncapp("a", "node-a", at("13"))),
        line("DELETED", ncapp("a", "node-a", at("14"))),
      )],
    });
    await streaming(server, async ({ next }, seen) => {
      const listed = await next("listed");
      assert.deepEqual([names(listed), listed.resourceVersion], [["a"], "12"]);
      assert.ok(!("managedFields" in listed.items[0]!.metadata));
      assert.equal((await next("applied")).object.metadata.resourceVersion, "13");
      assert.equal((await next("deleted")).object.metadata.name, "a");
      assert.deepEqual(kinds(seen), ["stream"]);
      const { query } = seen.requests[0]!;
      assert.equal(query.get("fieldSelector"), "spec.nodeName=node-a");
      assert.equal(query.get("resourceVersionMatch"), "NotOlderThan");
      assert.equal(query.get("resourceVersion"), null);
    }, { fieldSelector: "spec.nodeName=node-a" });
  },
);

test(
  "a watch that broke after a streaming list resumes from its last version, without a list",
  limit,
  async () => {
    const server = apiServer({
      streams: [breaks(line("ADDED", ncapp("a")), endOfList("12"))],
      watches: [streams(line("MODIFIED", ncapp("a", "node-a", at("13"))))],
    });
    await streaming(server, async ({ nextOutcome }, seen) => {
      assert.equal((await nextOutcome()).type, "listed");
      assert.equal((await nextOutcome()).type, "applied");
      assert.deepEqual(kinds(seen), ["stream", "watch"]);
      assert.equal(seen.requests[1]!.query.get("resourceVersion"), "12");
    });
  },
);

const refusals: [string, Answer][] = [
  [
    "rejects the parameters",
    (_, response) => refuse(response, 422, "Invalid", "sendInitialEvents: Forbidden"),
  ],
  ["sends an error", streams(line("ADDED", ncapp("a")), errorLine(500, "InternalError", "storage feature"))],
  ["ignores the parameters", streams(line("ADDED", ncapp("a")), bookmark("11"))],
  ["never marks the end", streams(line("ADDED", ncapp("a")))],
];
for (const [what, answer] of refusals) {
  test(
    `a server that ${what} is listed in pages at once, and streams are tried again later`,
    limit,
    async () => {
      const server = apiServer({
        streams: [answer, streams(line("ADDED", ncapp("c")), endOfList("30"))],
        lists: [lists([ncapp("a"), ncapp("b")], "10")],
        watches: [streams(errorLine(410, "Expired", "too old"))],
      });
      let time = 0;
      await streaming(server, async ({ next }, seen) => {
        // Not the one object that arrived before the refusal: that is no list.
        assert.deepEqual(names(await next("listed")), ["a", "b"]);
        assert.deepEqual(kinds(seen), ["stream", "list"]);
        await next("listed");
        assert.deepEqual(kinds(seen), ["stream", "list", "watch", "list"]);
        time = 10_001;
        await next("problem");
        assert.deepEqual(names(await next("listed")), ["c"]);
      }, { rejectedRetryMs: 10_000, streamPatience: { silenceMs: 50, dueMs: 10_000 }, now: () => time });
    },
  );
}

test(
  "a server that sends changes but never marks the end is listed in pages when time is up",
  limit,
  async () => {
    const chatters: Answer = (_, response) => {
      accept(response);
      const timer = setInterval(() => response.write(line("MODIFIED", ncapp("a"))), 5);
      response.on("close", () => clearInterval(timer));
    };
    const server = apiServer({ streams: [chatters], lists: [lists([ncapp("a"), ncapp("b")], "10")] });
    await streaming(server, async ({ next }) => {
      assert.deepEqual(names(await next("listed")), ["a", "b"]);
    }, { streamPatience: { silenceMs: 10_000, dueMs: 100 } });
  },
);

const cuts: [string, Answer][] = [
  ["breaks", breaks(line("ADDED", ncapp("a")))],
  ["is ended", (_, response) => {
    accept(response, line("ADDED", ncapp("a")));
    response.end();
  }],
  ["has no version", streams(line("ADDED", ncapp("a")), endOfList(""))],
  ["has version 0", streams(line("ADDED", ncapp("a")), endOfList("0"))],
  ["has an object of another kind", streams(line("ADDED", { ...ncapp("a"), kind: "Pod" }), endOfList("12"))],
];
for (const [what, cut] of cuts) {
  test(
    `a stream that ${what} before or at the end of the list reports a problem and no object`,
    limit,
    async () => {
      const server = apiServer({ streams: [cut], lists: [lists([ncapp("a"), ncapp("b")], "10")] });
      await streaming(server, async ({ next }, seen) => {
        assert.equal((await next("problem")).during, "list");
        assert.deepEqual(names(await next("listed")), ["a", "b"]);
        assert.deepEqual(kinds(seen).slice(0, 2), ["stream", "list"]);
      });
    },
  );
}

test("a relist by a stream that breaks removes nothing: the watch resumes where it was", limit, async () => {
  let time = 0;
  const server = apiServer({
    streams: [
      streams(line("ADDED", ncapp("a")), line("ADDED", ncapp("b")), endOfList("12")),
      breaks(line("ADDED", ncapp("a"))),
    ],
    watches: [streams(line("MODIFIED", ncapp("b", "node-a", at("15"))))],
  });
  await streaming(server, async ({ next }, seen) => {
    assert.deepEqual(names(await next("listed")), ["a", "b"]);
    time = 1;
    assert.equal((await next("problem")).during, "list");
    assert.equal((await next("applied")).object.metadata.name, "b");
    assert.equal(seen.requests.find(isWatch)!.query.get("resourceVersion"), "12");
  }, { relistMs: 50, relistRetryMs: 60_000, now: () => time });
});

test(
  "a field selector that the server lacks is left out of the stream, which is not given up for it",
  limit,
  async () => {
    const server = apiServer({
      streams: [
        (_, response) => refuse(response, 400, "BadRequest", "field label not supported: spec.nodeName"),
        streams(line("ADDED", ncapp("a")), line("ADDED", ncapp("b", "node-b")), endOfList("12")),
      ],
    });
    await streaming(server, async ({ next }, seen) => {
      assert.deepEqual(names(await next("listed")), ["a"]);
      assert.deepEqual(kinds(seen), ["stream", "stream"]);
      assert.equal(seen.requests[1]!.query.get("fieldSelector"), null);
    }, { fieldSelector: "spec.nodeName=node-a" });
  },
);
