import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { createFollowers, createHub, eachOf, type Sink } from "../../src/kube/follower.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { waitFor } from "../wait-for.ts";
import { accept, apiServer, isStream, isWatch, line, lists, ncapp, withClient } from "./fake-server.ts";

const named = (name: string, resourceVersion: string) =>
  ncapp(name, "node-a", { resourceVersion, uid: `uid-${name}`, labels: { a: "b" } });

test("a resource that two controllers follow is listed and watched once, and each gets what it keeps", async () => {
  const answer = apiServer({
    lists: [lists([named("one", "5"), named("two", "6")])],
    watches: [
      (_, response) =>
        accept(response, line("MODIFIED", named("one", "11")), line("DELETED", named("two", "12"))),
    ],
  });
  await withClient(answer, async (client, server) => {
    const hub = createHub(client, silentLogger);
    const ending = new AbortController();
    const follow = (options: Sink<NCApp>["options"] = {}) => {
      const kept = new Map<string, NCApp>();
      const sink: Sink<NCApp> = {
        resource: ncapps,
        options,
        ...eachOf<NCApp>(
          (app) => void kept.set(app.metadata.name, app),
          ({ metadata }) => void kept.delete(metadata?.name ?? ""),
        ),
      };
      const followers = createFollowers(hub);
      followers.follow(sink);
      return { kept, followers };
    };
    const slim = follow({
      slim: ({ metadata: { labels: _, ...metadata }, spec: { nodeName }, ...app }) => ({
        ...app,
        metadata,
        spec: { nodeName },
      }),
    });
    const whole = follow();
    const none = follow({ filter: () => false });
    const running = Promise.all([slim, whole, none].map(({ followers }) => followers.run(ending.signal)));
    await waitFor("the watch was read", () => whole.kept.get("one")?.metadata.resourceVersion === "11");
    await waitFor("one is deleted", () => whole.kept.size === 1);
    ending.abort();
    await running;
    const { spec, metadata, kind } = whole.kept.get("one")!;
    assert.deepEqual([spec.shellFile, metadata.labels, kind], ["/bin/true", { a: "b" }, "NCApp"]);
    assert.ok(!("managedFields" in metadata));
    assert.deepEqual(slim.kept.get("one")?.spec, { nodeName: "node-a" });
    assert.deepEqual([slim.kept.get("one")?.metadata.labels, slim.kept.size, none.kept.size], [
      undefined,
      1,
      0,
    ]);
    assert.ok(slim.followers.ready && slim.followers.sees(ncapps));
    const { requests } = server;
    assert.equal(requests.filter((request) => !isStream(request) && !isWatch(request)).length, 1);
    assert.equal(requests.filter(isWatch).length, 1);
  });
});

test("an object that is not in a list is removed by its name and uid alone", () => {
  const removed: unknown[] = [];
  const { apply, replace } = eachOf<NCApp>(() => {}, (object) => void removed.push(object));
  apply(named("one", "5"));
  replace([]);
  const { namespace, name, uid } = named("one", "5").metadata;
  assert.deepEqual(removed, [{ metadata: { namespace, name, uid } }]);
});
