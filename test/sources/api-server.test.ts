import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiServerSource } from "../../src/sources/api-server.ts";
import { annotations } from "../../src/api/names.ts";
import { hiddenValue } from "../../src/api/shown-spec.ts";
import type { Source } from "../../src/sources/source.ts";
import {
  accept,
  type Answer,
  apiServer,
  type FakeServer,
  line,
  lists,
  ncapp,
  refuse,
  withClient,
} from "../kube/fake-server.ts";

interface Running {
  source: Source;
  /** What the sink received, one line each. */
  received: string[];
  /** Waits until the sink has received this. */
  until(text: string): Promise<void>;
}

const limit = { timeout: 30_000 };
const patience = { next: () => 1, reset() {} };

function running(
  answer: Answer,
  use: (running: Running, server: FakeServer) => Promise<void>,
  { namespace, relistMs }: { namespace?: string; relistMs?: number } = {},
) {
  return withClient(answer, async (client, server) => {
    const source = createApiServerSource(client, {
      node: "node-a",
      namespace,
      follow: { backoff: patience, relistMs },
    });
    const stop = new AbortController();
    const received: string[] = [];
    let wake = () => {};
    const receive = (text: string) => (received.push(text), wake());
    const run = source.run({
      replace: (apps) =>
        receive(
          `replace ${apps.map(({ app, invalid }) => app.metadata.name + (invalid ? "!" : "")).join()}`,
        ),
      upsert: ({ app, source, invalid, editedBy }) =>
        receive(
          `upsert ${app.metadata.name}${invalid ? "!" : ""} from ${source}${
            editedBy ? ` by ${editedBy}` : ""
          }`,
        ),
      remove: (key, uid) => receive(`remove ${key} ${uid}`),
      reportProblems: (problems) => receive(`problems ${problems.map(({ message }) => message).join("; ")}`),
    }, stop.signal);
    const until = async (text: string) => {
      while (!received.includes(text)) await new Promise<void>((resolve) => wake = resolve);
    };
    try {
      await use({ source, received, until }, server);
    } finally {
      stop.abort();
      await run;
    }
  });
}

test("the source names who changed the spec of an app last", limit, async () => {
  const spec = { "f:spec": { "f:args": {} } };
  const managedFields = [
    { manager: "kubectl-create", time: "2026-01-01T00:00:00Z", fieldsV1: spec },
    { manager: "kubectl-edit", time: "2026-01-02T00:00:00Z", fieldsV1: spec },
    {
      manager: "nckubelet",
      time: "2026-01-04T00:00:00Z",
      subresource: "status",
      fieldsV1: { "f:status": {} },
    },
    { manager: "labeler", time: "2026-01-05T00:00:00Z", fieldsV1: { "f:metadata": {} } },
    { manager: "kubectl-apply", time: "2026-01-01T12:00:00Z", fieldsV1: spec },
  ];
  const app = ncapp("b", "node-a", { resourceVersion: "11" });
  const edited = { ...app, metadata: { ...app.metadata, managedFields } };
  const server = apiServer({
    lists: [lists([])],
    watches: [(_, response) => accept(response, line("ADDED", edited))],
  });
  await running(server, ({ until }) => until("upsert b from api-server by kubectl-edit"));
});

test("the source passes on the apps of its node, and is ready once it has listed", limit, async () => {
  const server = apiServer({
    lists: [lists([ncapp("a"), ncapp("other", "node-b")])],
    watches: [(_, response) =>
      accept(
        response,
        line("ADDED", ncapp("b", "node-a", { resourceVersion: "11" })),
        line("MODIFIED", ncapp("a", "node-b", { resourceVersion: "12" })),
        line("DELETED", ncapp("b", "node-a", { resourceVersion: "13" })),
      )],
  });
  await running(server, async ({ source, received, until }, { requests, url }) => {
    assert.equal(source.health().ready, false);
    await until("remove default/b uid-b");
    assert.deepEqual(received, [
      "replace a",
      "upsert b from api-server",
      "remove default/a uid-a",
      "remove default/b uid-b",
    ]);
    assert.equal(requests[0]!.query.get("fieldSelector"), "spec.nodeName=node-a");
    const { ready, message } = source.health();
    assert.deepEqual([ready, message], [true, `following ${url} (--server, anonymous)`]);
  });
});

test(
  "a copy of a mirror is an ordinary app; one with placeholders instead of secrets is not started",
  limit,
  async () => {
    const marks = {
      [annotations.mirror]: "node-a/0123456789abcdef",
      [annotations.mirrorOf]: "web",
      [annotations.mirrorUid]: "uid-web",
    };
    const copy = ncapp("copy", "node-a", { annotations: marks });
    const hidden = ncapp("hidden", "node-a", { annotations: marks });
    hidden.spec.env = [{ name: "TOKEN", value: hiddenValue }];
    const byHand = ncapp("by-hand", "node-a", { annotations: { [annotations.mirror]: "node-a/x" } });
    const original = ncapp("web", "node-a", { annotations: marks });
    await running(
      apiServer({ lists: [lists([copy, hidden, byHand, original])] }),
      async ({ received, until }) => {
        await until("replace copy,hidden!,by-hand,web");
        assert.match(received.join(), /default\/hidden: .*placeholder of the hidden value of "TOKEN"/);
      },
    );
  },
);

test("mirrors of this node are passed on unchecked; a copy is an app", limit, async () => {
  const mirror = (name: string, resourceVersion = "1") => {
    const app = ncapp(name, "node-a", {
      resourceVersion,
      annotations: { [annotations.mirror]: "node-a/0123456789abcdef", [annotations.mirrorOf]: name },
    });
    return { ...app, spec: { ...app.spec, env: [{ name: "TOKEN", value: hiddenValue }] } };
  };
  const copy = mirror("copy");
  copy.metadata.annotations![annotations.mirrorUid] = "uid-of-the-mirror";
  const server = apiServer({
    lists: [lists([ncapp("a"), mirror("local"), copy])],
    watches: [(_, response) =>
      accept(
        response,
        line("ADDED", mirror("late", "11")),
        line("DELETED", mirror("local", "12")),
        line("DELETED", ncapp("a", "node-a", { resourceVersion: "13" })),
      )],
  });
  await running(server, async ({ received, until }) => {
    await until("remove default/a uid-a");
    assert.deepEqual(received.filter((text) => !text.startsWith("problems")), [
      "replace a,local,copy!",
      "upsert late from api-server",
      "remove default/local uid-local",
      "remove default/a uid-a",
    ]);
  });
});

test("the source lists one namespace if the options name it", limit, async () => {
  await running(apiServer({ lists: [lists([])] }), async ({ until }, { requests }) => {
    await until("replace ");
    assert.equal(requests[0]!.path, "/apis/app.example.com/v1alpha1/namespaces/shop/ncapps");
  }, { namespace: "shop" });
});

test(
  "a failure removes nothing, is reported until it is over, and makes the source not ready",
  limit,
  async () => {
    let fail = true;
    const list: Answer = (request, response, index) =>
      fail
        ? refuse(response, 403, "Forbidden", "cannot list")
        : lists([ncapp("a")])(request, response, index);
    await running(apiServer({ lists: [list] }), async ({ source, received, until }, { url }) => {
      const path = "/apis/app.example.com/v1alpha1/ncapps?limit=500&fieldSelector=spec.nodeName%3Dnode-a";
      const message = `GET ${url}${path}: 403 Forbidden: cannot list`;
      await until(`problems ${message}`);
      assert.deepEqual([source.health().ready, source.health().message], [false, message]);
      fail = false;
      await until("problems ");
      assert.deepEqual(received, [`problems ${message}`, "replace a", "problems "]);
      assert.equal(source.health().ready, true);
    });
  },
);

test("a missing CRD is reported with what to do", limit, async () => {
  const list: Answer = (_, response) =>
    response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found");
  await running(apiServer({ lists: [list] }), async ({ received }) => {
    while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.match(received[0]!, /404 NotFound: 404 page not found \(is the NCApp CRD installed\?/);
  });
});

test("a failed relist stays reported while the watch works, until a list succeeds", limit, async () => {
  let listed = 0;
  const list: Answer = (request, response, index) =>
    listed++ === 1
      ? refuse(response, 500, "InternalError", "no")
      : lists([ncapp("a")])(request, response, index);
  const watch: Answer = (_, response) =>
    listed === 2
      ? accept(response, line("ADDED", ncapp("b", "node-a", { resourceVersion: "11" })))
      : accept(response);
  await running(apiServer({ lists: [list], watches: [watch] }), async ({ source, until }) => {
    await until("upsert b from api-server");
    assert.equal(source.health().ready, false);
    assert.match(source.health().message, /500 InternalError/);
  }, { relistMs: 50 });
});

test(
  "an app that is not valid here is passed on with its problems, and unknown fields are none",
  limit,
  async () => {
    const broken = ncapp("broken");
    Object.assign(broken.spec, { cpuPCT: "200" });
    const newer = ncapp("newer");
    Object.assign(newer.spec, { fieldOfTheFuture: true });
    const fixed = ncapp("broken", "node-a", { resourceVersion: "11" });
    let fix = () => {};
    const server = apiServer({
      lists: [lists([broken, newer])],
      watches: [(_, response) => {
        accept(response);
        fix = () => void response.write(line("MODIFIED", fixed));
      }],
    });
    await running(server, async ({ source, received, until }) => {
      await until("replace broken!,newer");
      while (received.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
      assert.match(received[1]!, /^problems default\/broken: spec\.cpuPCT: Invalid value: "200"/);
      assert.equal(source.health().ready, true);
      while (received.length < 4) {
        fix();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.deepEqual(received.slice(2, 4), ["upsert broken from api-server", "problems "]);
    });
  },
);
