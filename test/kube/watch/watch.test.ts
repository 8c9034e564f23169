import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  accept,
  type Answer,
  apiServer,
  bookmark,
  errorLine,
  type FakeServer,
  isWatch,
  json,
  line,
  lists,
  ncapp,
  refuse,
} from "../fake-server.ts";
import { type Event, following } from "../follower.ts";

const watchesOf = ({ requests }: FakeServer) => requests.filter(isWatch);
const listsOf = ({ requests }: FakeServer) => requests.filter((request) => !isWatch(request));
const names = ({ items }: Event<"listed">) => items.map(({ metadata }) => metadata.name);

/** A watch that sends these lines, after which the server ends it. */
const ends = (...lines: string[]): Answer => (_, response) => {
  accept(response, ...lines);
  response.end();
};
const stays = (...lines: (string | Uint8Array)[]): Answer => (_, response) => accept(response, ...lines);
const limit = { timeout: 30_000 };

test("followList() lists, then reports changes in order", limit, async () => {
  const server = apiServer({
    lists: [lists([ncapp("a")], "10")],
    watches: [stays(
      line("ADDED", ncapp("b", "node-a", { resourceVersion: "11" })),
      line("MODIFIED", ncapp("a", "node-a", { resourceVersion: "12" })),
      line("DELETED", ncapp("b", "node-a", { resourceVersion: "13" })),
    )],
  });
  await following(server, async ({ next }, seen) => {
    assert.deepEqual(names(await next("listed")), ["a"]);
    const added = await next("applied");
    assert.equal(added.object.metadata.name, "b");
    assert.ok(!("managedFields" in added.object.metadata));
    assert.equal((await next("applied")).object.metadata.resourceVersion, "12");
    assert.equal((await next("deleted")).object.metadata.uid, "uid-b");
    const { query } = watchesOf(seen)[0]!;
    assert.equal(query.get("resourceVersion"), "10");
    assert.equal(query.get("allowWatchBookmarks"), "true");
    const seconds = Number(query.get("timeoutSeconds"));
    assert.ok(seconds >= 300 && seconds <= 600, `${seconds}`);
  });
});

test("a watch that the server ends resumes at once from the last event, without a list", limit, async () => {
  const server = apiServer({
    lists: [lists([], "10")],
    watches: [
      ends(line("ADDED", ncapp("a", "node-a", { resourceVersion: "11" })), bookmark("15")),
      stays(line("MODIFIED", ncapp("a", "node-a", { resourceVersion: "16" }))),
    ],
  });
  await following(server, async ({ next, restarts }, seen) => {
    await next("listed");
    await next("applied");
    assert.equal((await next("applied")).object.metadata.resourceVersion, "16");
    assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "15"]);
    assert.equal(listsOf(seen).length, 1);
    assert.deepEqual(restarts, ["ended"]);
  });
});

const expiries: [string, Answer][] = [
  ["an ERROR event 410", stays(errorLine(410, "Expired", "too old resource version"))],
  ["an HTTP 410", (_, response) => refuse(response, 410, "Gone", "too old resource version")],
];
for (const [what, expired] of expiries) {
  test(`${what} leads to exactly one list`, limit, async () => {
    const server = apiServer({
      lists: [lists([ncapp("a")], "10"), lists([ncapp("b")], "20")],
      watches: [expired, stays(line("ADDED", ncapp("c", "node-a", { resourceVersion: "21" })))],
    });
    await following(server, async ({ next, restarts }, seen) => {
      assert.deepEqual(names(await next("listed")), ["a"]);
      assert.deepEqual(names(await next("listed")), ["b"]);
      await next("applied");
      assert.equal(listsOf(seen).length, 2);
      assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "20"]);
      assert.deepEqual(restarts, ["expired"]);
    });
  });
}

test(
  "a list that is older than what was received says so: the server was restored from a backup",
  limit,
  async () => {
    const expires = errorLine(410, "Expired", "too old");
    const server = apiServer({
      lists: [lists([], "10"), lists([], "14"), lists([], "14")],
      watches: [
        stays(line("ADDED", ncapp("a", "node-a", { resourceVersion: "15" })), expires),
        stays(bookmark("14"), expires),
        stays(),
      ],
    });
    await following(server, async ({ next }) => {
      assert.equal((await next("listed")).rewound, undefined);
      await next("applied");
      assert.equal((await next("listed")).rewound, true);
      assert.equal((await next("listed")).rewound, undefined);
    });
  },
);

test("a server that expires every version at once is not polled in a tight loop", limit, async () => {
  const server = apiServer({ lists: [lists([])], watches: [stays(errorLine(410, "Expired", "too old"))] });
  await following(server, async ({ next }) => {
    await next("listed");
    for (const pause of [1, 2, 3]) {
      await next("listed");
      assert.equal((await next("problem")).retryInMs, pause);
    }
  });
});

test(
  "a connection that breaks inside a line resumes before that line, and reports nothing of it",
  limit,
  async () => {
    const whole = line("ADDED", ncapp("b", "node-a", { resourceVersion: "12" }));
    const cut: Answer = (_, response) => {
      accept(response, line("ADDED", ncapp("a", "node-a", { resourceVersion: "11" })));
      response.write(whole.slice(0, 40), () => response.socket!.destroy());
    };
    const server = apiServer({ lists: [lists([], "10")], watches: [cut, stays(whole)] });
    await following(server, async ({ next, restarts }, seen) => {
      await next("listed");
      assert.equal((await next("applied")).object.metadata.name, "a");
      const { during, error } = await next("problem");
      assert.deepEqual([during, error.reason], ["watch", "Unreachable"]);
      await next("alive");
      assert.equal((await next("applied")).object.metadata.name, "b");
      assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "11"]);
      assert.equal(listsOf(seen).length, 1);
      assert.deepEqual(restarts, ["lost"]);
    });
  },
);

test(
  "a body that ends cleanly inside a line, or a line without an end, counts as a lost connection",
  limit,
  async () => {
    const whole = line("ADDED", ncapp("a", "node-a", { resourceVersion: "11" }));
    const bad = {
      "broke off inside": ends(whole.slice(0, -1)),
      "is longer than": ends("x".repeat(17 << 20)),
    };
    for (const [problem, answer] of Object.entries(bad)) {
      const server = apiServer({ lists: [lists([], "10")], watches: [answer, stays(whole)] });
      await following(server, async ({ next }, seen) => {
        await next("listed");
        assert.ok((await next("problem")).error.message.includes(problem));
        await next("applied");
        assert.equal(listsOf(seen).length, 1);
      });
    }
  },
);

test("characters split between chunks arrive whole", limit, async () => {
  const app = ncapp("a");
  app.spec.args = ["größe 世界 🦀"];
  // Empty lines between events are none.
  const bytes = Buffer.from(`\n\r\n${line("ADDED", app)}`);
  const server = apiServer({
    lists: [lists([])],
    watches: [async (_, response) => {
      accept(response);
      for (const byte of bytes) await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
    }],
  });
  await following(server, async ({ next }) => {
    await next("listed");
    assert.deepEqual((await next("applied")).object.spec.args, ["größe 世界 🦀"]);
  });
});

test(
  "silence leads to a new connection from the same version, and is no problem by itself",
  limit,
  async () => {
    const server = apiServer({
      lists: [lists([], "10")],
      watches: [stays(), stays(line("ADDED", ncapp("a", "node-a", { resourceVersion: "11" })))],
    });
    await following(server, async ({ next, restarts }, seen) => {
      await next("listed");
      await next("applied");
      assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "10"]);
      assert.deepEqual(restarts, ["silent"]);
    }, { silenceMs: 50 });
  },
);

test("occasional bytes are no silence", limit, async () => {
  const server = apiServer({
    lists: [lists([])],
    watches: [(_, response) => {
      accept(response);
      let version = 0;
      const timer = setInterval(() => response.write(bookmark(`${++version}`)), 100);
      response.on("close", () => clearInterval(timer));
    }],
  });
  await following(server, async ({ next, restarts }) => {
    await next("listed");
    // Longer than the silence in all; a busy machine may stall for a second.
    for (let i = 0; i < 18; i++) await next("alive");
    assert.deepEqual(restarts, []);
  }, { silenceMs: 1500 });
});

test("a half-open server is a problem once a new connection gets no answer", limit, async () => {
  const server = apiServer({ lists: [lists([])], watches: [stays(), () => {}] });
  await following(
    server,
    async ({ next, restarts }) => {
      await next("listed");
      assert.equal((await next("problem")).error.reason, "Timeout");
      assert.deepEqual(restarts, ["silent", "lost"]);
    },
    { silenceMs: 50 },
    { timeoutMs: 1000 },
  );
});

test(
  "an object that moves to another node is reported as deleted once, and objects of other nodes never",
  limit,
  async () => {
    const server = apiServer({
      lists: [lists([ncapp("a"), ncapp("other", "node-b")], "10")],
      watches: [stays(
        line("MODIFIED", ncapp("other", "node-b", { resourceVersion: "11" })),
        line("MODIFIED", ncapp("a", "node-b", { resourceVersion: "12" })),
        line("MODIFIED", ncapp("a", "node-b", { resourceVersion: "13" })),
        line("DELETED", ncapp("a", "node-b", { resourceVersion: "14" })),
        line("DELETED", ncapp("other", "node-b", { resourceVersion: "15" })),
        line("ADDED", ncapp("last", "node-a", { resourceVersion: "16" })),
      )],
    });
    await following(server, async ({ next }) => {
      assert.deepEqual(names(await next("listed")), ["a"]);
      const moved = await next("deleted");
      assert.deepEqual([moved.object.metadata.uid, moved.object.spec.nodeName], ["uid-a", "node-b"]);
      assert.equal((await next("applied")).object.metadata.name, "last");
    });
  },
);

test("a recreated object is deleted with its old uid and applied with its new one", limit, async () => {
  const server = apiServer({
    lists: [lists([ncapp("a", "node-a", { uid: "one" })], "10")],
    watches: [stays(
      line("DELETED", ncapp("a", "node-a", { uid: "one", resourceVersion: "11" })),
      line("ADDED", ncapp("a", "node-a", { uid: "two", resourceVersion: "12" })),
    )],
  });
  await following(server, async ({ next }) => {
    await next("listed");
    assert.equal((await next("deleted")).object.metadata.uid, "one");
    assert.equal((await next("applied")).object.metadata.uid, "two");
  });
});

test("list and watch use a field selector if the server accepts it", limit, async () => {
  await following(apiServer({ lists: [lists([])] }), async ({ next }, { requests }) => {
    await next("listed");
    await next("alive");
    const wanted = "spec.nodeName=node-a";
    assert.deepEqual(requests.map(({ query }) => query.get("fieldSelector")), [wanted, wanted]);
  }, { fieldSelector: "spec.nodeName=node-a" });
});

test("a refused field selector is dropped, and tried again later", limit, async () => {
  let supported = false;
  let time = 0;
  const server: Answer = (request, response, index) => {
    if (request.query.has("fieldSelector") && !supported) {
      return refuse(
        response,
        400,
        "BadRequest",
        'Unable to find "ncapps": field label not supported: spec.nodeName',
      );
    }
    return isWatch(request)
      ? ends(bookmark("10"))(request, response, index)
      : lists([ncapp("a"), ncapp("b", "b")])(request, response, index);
  };
  await following(server, async ({ next }, seen) => {
    assert.deepEqual(names(await next("listed")), ["a"]);
    await next("alive");
    const selectors = () => seen.requests.map(({ query }) => query.has("fieldSelector"));
    assert.deepEqual(selectors(), [true, false, false]);
    time += 1_100;
    await next("listed");
    assert.equal(selectors().filter(Boolean).length, 1, "too early to try again");
    supported = true;
    time += 10_000;
    await next("listed");
    assert.ok(listsOf(seen).at(-1)?.query.has("fieldSelector"), "tried again");
  }, { fieldSelector: "spec.nodeName=node-a", relistMs: 1_000, rejectedRetryMs: 10_000, now: () => time });
});

test("another 400 is a problem, and the selector stays", limit, async () => {
  const server = apiServer({
    lists: [(_, response) => refuse(response, 400, "BadRequest", "limit is bad"), lists([])],
  });
  await following(server, async ({ next }, { requests }) => {
    assert.match((await next("problem")).error.message, /limit is bad/);
    await next("listed");
    assert.ok(requests.every(({ query }) => query.has("fieldSelector")));
  }, { fieldSelector: "spec.nodeName=node-a" });
});

test("the periodic list repairs what a silent watch missed", limit, async () => {
  const server = apiServer({ lists: [lists([ncapp("a")], "10"), lists([ncapp("b")], "20")] });
  await following(server, async ({ next, restarts }) => {
    assert.deepEqual(names(await next("listed")), ["a"]);
    assert.deepEqual(names(await next("listed")), ["b"]);
    assert.equal(restarts[0], "relist");
  }, { relistMs: 50 });
});

test("a periodic list that fails is a problem, and the watch continues", limit, async () => {
  const server = apiServer({
    lists: [lists([ncapp("a")], "10"), lists(null)],
    watches: [stays(), stays(line("ADDED", ncapp("b", "node-a", { resourceVersion: "11" })))],
  });
  await following(server, async ({ next }, seen) => {
    await next("listed");
    const { during, error, retryInMs } = await next("problem");
    assert.deepEqual([during, retryInMs], ["list", 60_000]);
    assert.match(error.message, /its items are null/);
    assert.equal((await next("applied")).object.metadata.name, "b");
    assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "10"]);
  }, { relistMs: 50, relistRetryMs: 60_000 });
});

const raw = (type: string, body: string, status = 200): Answer => (_, response) => {
  response.writeHead(status, { "content-type": type }).end(body);
};
const badLists: [string, Answer, RegExp][] = [
  ["401", (_, response) => refuse(response, 401, "Unauthorized", "no"), /401 Unauthorized/],
  ["403", (_, response) => refuse(response, 403, "Forbidden", "no"), /403 Forbidden/],
  ["404 without a Status", raw("text/plain", "404 page not found", 404), /404 NotFound: 404 page not found/],
  ["429", (_, response) => refuse(response, 429, "TooManyRequests", "no"), /429 TooManyRequests/],
  ["500", (_, response) => refuse(response, 500, "InternalError", "no"), /500 InternalError/],
  ["503", (_, response) => refuse(response, 503, "ServiceUnavailable", "no"), /503 ServiceUnavailable/],
  ["items null", lists(null), /its items are null/],
  ["cut JSON", raw("application/json", '{"kind":"NCAppList"'), /cut or broken JSON/],
  ["HTML", raw("text/html", "<html>"), /not JSON but text\/html/],
  ["an empty body", raw("application/json", ""), /an empty body/],
  [
    "another list",
    (_, response) => json(response, { kind: "PodList", apiVersion: "v1", items: [] }),
    /kind is "PodList"/,
  ],
];
for (const [what, bad, expected] of badLists) {
  test(`a list answered with ${what} is a problem, and the next good one is reported`, limit, async () => {
    // A 401 is retried once, with fresh credentials.
    const answers = what === "401" ? [bad, bad] : [bad];
    await following(apiServer({ lists: [...answers, lists([ncapp("a")])] }), async ({ next }) => {
      const { during, error } = await next("problem");
      assert.equal(during, "list");
      assert.match(error.message, expected);
      assert.deepEqual(names(await next("listed")), ["a"]);
    });
  });
}

test(
  "an ERROR event other than 410 is a problem, and the watch resumes at its last version",
  limit,
  async () => {
    const server = apiServer({
      lists: [lists([], "10")],
      watches: [
        stays(bookmark("12"), errorLine(500, "InternalError", "etcd is unhappy")),
        stays(line("ADDED", ncapp("a", "node-a", { resourceVersion: "13" }))),
      ],
    });
    await following(server, async ({ next }, seen) => {
      await next("listed");
      assert.match((await next("problem")).error.message, /500 InternalError: etcd is unhappy/);
      await next("applied");
      assert.deepEqual(watchesOf(seen).map(({ query }) => query.get("resourceVersion")), ["10", "12"]);
      assert.equal(listsOf(seen).length, 1);
    });
  },
);

const nonsense: [string, Answer, RegExp][] = [
  [
    "an object of another kind",
    stays(line("ADDED", { ...ncapp("x"), kind: "Pod" })),
    /an object has kind "Pod"/,
  ],
  ["a line that is no JSON", stays("<html>\n"), /is no event: <html>/],
  ["a line that is no event", stays('{"hello":1}\n'), /is no event/],
  ["HTML", raw("text/html", "<html>"), /not JSON but text\/html/],
  ["404", (_, response) => refuse(response, 404, "NotFound", "no such resource"), /404 NotFound/],
];
for (const [what, bad, expected] of nonsense) {
  test(`a watch answered with ${what} is a problem, and a list follows`, limit, async () => {
    const server = apiServer({ lists: [lists([ncapp("a")], "10")], watches: [bad, stays()] });
    await following(server, async ({ next }) => {
      await next("listed");
      const { during, error } = await next("problem");
      assert.equal(during, "watch");
      assert.match(error.message, expected);
      assert.deepEqual(names(await next("listed")), ["a"]);
    });
  });
}

test("a watch that keeps ending at once is a problem, and the pauses grow", limit, async () => {
  await following(apiServer({ lists: [lists([])], watches: [ends()] }), async ({ next }, seen) => {
    await next("listed");
    for (const pause of [1, 2, 3]) {
      const { error, retryInMs } = await next("problem");
      assert.match(error.message, /the watch ended at once/);
      assert.equal(retryInMs, pause);
    }
    assert.equal(listsOf(seen).length, 1);
  });
});

test("a watch that worked resets the pauses", limit, async () => {
  const broken: Answer = (_, response) => refuse(response, 500, "InternalError", "no");
  const cut: Answer = (_, response) => {
    accept(response, bookmark("11"));
    response.write("{", () => response.socket!.destroy());
  };
  const server = apiServer({ lists: [lists([])], watches: [broken, broken, cut, broken] });
  await following(server, async ({ next }) => {
    await next("listed");
    assert.deepEqual([(await next("problem")).retryInMs, (await next("problem")).retryInMs], [1, 2]);
    assert.equal((await next("problem")).retryInMs, 1);
  });
});

test("followList() honors Retry-After", limit, async () => {
  const busy: Answer = (_, response) =>
    refuse(response, 429, "TooManyRequests", "no", { "retry-after": "7" });
  await following(apiServer({ lists: [lists([])], watches: [busy] }), async ({ next, stop }) => {
    await next("listed");
    assert.equal((await next("problem")).retryInMs, 7_000);
    await stop();
  });
});

test("followList() ends and closes its connection when its signal aborts", limit, async () => {
  let closed: () => void;
  const connectionClosed = new Promise<void>((resolve) => closed = resolve);
  const watch: Answer = (_, response) => {
    accept(response);
    response.on("close", closed);
  };
  await following(apiServer({ lists: [lists([])], watches: [watch] }), async ({ next, stop }) => {
    await next("listed");
    await next("alive");
    await stop();
    await connectionClosed;
  });
});

test(
  "followList() stops waiting for a silent server once the server has answered another request",
  limit,
  async () => {
    const server = apiServer({
      lists: [(_, response) => void response.destroy(), lists([ncapp("a")], "10")],
      watches: [stays()],
    });
    const hour = 3_600_000;
    const options = { backoff: { next: () => hour, reset() {} }, answered: answerAtOnce };
    await following(server, async ({ next }) => {
      assert.equal((await next("problem")).retryInMs, hour);
      assert.deepEqual(names(await next("listed")), ["a"]);
    }, options);
  },
);

function answerAtOnce(callback: () => void): () => void {
  queueMicrotask(callback);
  return () => {};
}

test(
  "followList() removes its listener for answers of the server after each wait that timed out",
  limit,
  async () => {
    const server = apiServer({
      lists: [
        ...Array(5).fill((_: unknown, response: ServerResponse) => void response.destroy()),
        lists([], "10"),
      ],
      watches: [stays()],
    });
    const waiting = new Set<object>();
    const answered = () => {
      const waiter = {};
      waiting.add(waiter);
      return () => void waiting.delete(waiter);
    };
    await following(server, async ({ next }) => {
      for (let time = 0; time < 5; time++) await next("problem");
      await next("listed");
      assert.equal(waiting.size, 0);
    }, { backoff: { next: () => 1, reset() {} }, answered });
  },
);

test("followList() retries within half a minute, whatever Retry-After says", limit, async () => {
  const busy = (_: unknown, response: ServerResponse) =>
    refuse(response, 503, "ServiceUnavailable", "maintenance", { "retry-after": "3600" });
  const server = apiServer({ lists: [busy], watches: [] });
  await following(server, async ({ next }) => {
    assert.equal((await next("problem")).retryInMs, 30_000);
  }, { backoff: { next: () => 1, reset() {} } });
});
