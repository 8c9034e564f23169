import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reason } from "../../../src/api/reasons.ts";
import { createEventRecorder, type EventNews, type EventTarget } from "../../../src/report/events/events.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";
import { FakeClock, settled } from "../fake-clock.ts";
import { createTestLog } from "../test-log.ts";

const minute = 60_000;
const web: EventTarget = { namespace: "default", name: "web", uid: "u1" };
const started: EventNews = { type: "Normal", reason: "Started", message: "Started /bin/run as process 7" };

const setUp = () => {
  const clock = new FakeClock();
  const server = new FakeApi();
  const log = createTestLog();
  const { client } = server;
  const recorder = createEventRecorder({
    client,
    component: "nckubelet",
    node: "n1",
    log,
    clock,
    random: () => 0,
  });
  const record = (message: string, name = "web") =>
    recorder.record({ ...web, name, uid: name }, { ...started, message });
  return {
    clock,
    server,
    stored: server.objects,
    log,
    recorder,
    record,
  };
};

test("record() creates an Event in the namespace of the app, where kubectl describe finds it", async () => {
  const { server, recorder } = setUp();
  recorder.record(web, started);
  await settled();
  const { path, method, body } = server.asked[0]!;
  assert.equal(`${method} ${path}`, "POST /api/v1/namespaces/default/events");
  const { name } = body.metadata;
  assert.match(name, /^web\.[0-9a-f]{17}$/);
  assert.deepEqual(body, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      namespace: "default",
      name: "web",
      uid: "u1",
    },
    type: "Normal",
    reason: "Started",
    message: "Started /bin/run as process 7",
    firstTimestamp: "2030-01-01T00:00:00Z",
    lastTimestamp: "2030-01-01T00:00:00Z",
    count: 1,
    source: { component: "nckubelet", host: "n1" },
    reportingComponent: "nckubelet",
    reportingInstance: "n1",
  });
});

test("record() counts a repeated event, and sends the repeats during a request as one", async () => {
  const { clock, server, stored, recorder } = setUp();
  recorder.record(web, started);
  await clock.advance(5000);
  const hold = Promise.withResolvers<void>();
  server.intercept = () => hold.promise;
  for (let times = 0; times < 20; times++) recorder.record(web, started);
  await settled();
  hold.resolve();
  await settled();
  assert.deepEqual(server.asked.map(({ method }) => method), ["POST", "PATCH", "PATCH"]);
  assert.deepEqual(server.asked[1]!.body, {
    count: 2,
    lastTimestamp: "2030-01-01T00:00:05Z",
    message: started.message,
  });
  assert.deepEqual([...stored.values()].map(({ count }) => count), [21]);
});

test("record() creates the Event again when the server has deleted it", async () => {
  const { clock, stored, recorder } = setUp();
  recorder.record(web, started);
  await clock.advance(50 * minute);
  stored.clear();
  recorder.record(web, started);
  await settled();
  assert.deepEqual([...stored.values()].map(({ count }) => count), [2]);
});

test("record() creates no second Event if the answer to the first attempt was lost", async () => {
  const { clock, stored, recorder, server } = setUp();
  server.intercept = ({ path, body }) => {
    if (server.asked.length > 1) return undefined;
    server.put(`${path}/${body.metadata.name}`, body);
    return 0;
  };
  recorder.record(web, started);
  await clock.advance(5000);
  assert.deepEqual(server.asked.map(({ method }) => method), ["POST", "POST", "PATCH"]);
  assert.equal(stored.size, 1);
});

test("record() throttles an app with too many events, loses no count, and does not delay other apps", async () => {
  const { clock, server, stored, record } = setUp();
  for (let times = 0; times < 300; times++) {
    record("says the same");
    await clock.advance(1000);
  }
  assert.ok(server.asked.length >= 25 && server.asked.length <= 31, `${server.asked.length} requests`);
  record("Started", "other");
  await settled();
  assert.equal(server.asked.at(-1)!.body.involvedObject.name, "other");
  await clock.advance(2 * minute);
  assert.equal([...stored.values()][0].count, 300);
  // A pause refills the burst and no more, and others that come and go do not refill it.
  await clock.advance(600 * minute);
  const before = server.asked.length;
  for (let at = 0; at < 30; at++) {
    for (let other = 0; at === 20 && other < 600; other++) record("Started", `other${other}`);
    record("says the same");
    await settled();
  }
  assert.equal(server.asked.length - before, 600 + 25);
});

test("record() sends the warnings of an app that is throttled, and throttles them by themselves", async () => {
  const { recorder, record, stored } = setUp();
  for (let at = 0; at < 30; at++) {
    record(`updated ${"x".repeat(at)}`);
    await settled();
  }
  const sent = stored.size;
  const stalled = { type: "Warning", reason: "Stalled", message: "1 app has failed" } as const;
  recorder.record({ ...web, uid: "web" }, stalled);
  await settled();
  assert.equal(stored.size, sent + 1);
  for (let at = 0; at < 40; at++) {
    recorder.record({ ...web, uid: "web" }, { ...stalled, reason: `Stalled${at}` as Reason });
    await settled();
  }
  assert.equal(stored.size, sent + 25);
  recorder.close();
});

test("record() drops an event that the server rejects, and tries again when it happens again", async () => {
  const { clock, server, stored, recorder } = setUp();
  server.intercept = () => 403;
  recorder.record(web, started);
  await clock.advance(30 * minute);
  assert.equal(server.asked.length, 3);
  server.intercept = () => undefined;
  recorder.record(web, started);
  await settled();
  assert.deepEqual([...stored.values()].map(({ count }) => count), [2]);
});

for (
  const [what, status, message] of [
    ["is being deleted", 403, "unable to create new content in namespace ci because it is being terminated"],
    ["is gone", 404, 'namespaces "ci" not found'],
  ] as const
) {
  test(`record() drops events whose namespace ${what}, and sends those of other namespaces at once`, async () => {
    const { server, recorder, record, stored } = setUp();
    server.intercept = (request) => {
      if (request.path.includes("/ci/")) throw problem(request, status, "Refused", message);
    };
    for (let n = 0; n < 30; n++) {
      recorder.record({ namespace: "ci", name: `app-${n}`, uid: `u${n}` }, started);
    }
    record("Started");
    await settled();
    assert.deepEqual([...stored.values()].map(({ metadata }) => metadata.namespace), ["default"]);
    assert.equal(server.asked.length, 31);
  });
}

test("record() keeps a bounded number of events while no request succeeds", async () => {
  const { clock, server, stored, record } = setUp();
  server.intercept = () => 0;
  for (let number = 0; number < 5000; number++) record("Started", `app${number}`);
  await clock.advance(minute);
  server.intercept = () => undefined;
  await clock.advance(minute);
  assert.ok(stored.size <= 1010, `${stored.size} events`);
  assert.ok([...stored.values()].some(({ involvedObject }) => involvedObject.name === "app4999"));
});

test("record() sends no secret that is part of a URL", async () => {
  const { stored, record } = setUp();
  record("cannot fetch https://me:secret@host/run.sh?token=abc");
  await settled();
  assert.doesNotMatch(JSON.stringify([...stored.values()]), /secret|abc/);
});

test("flush() waits for what is due; close() sends nothing more and leaves no timer", async () => {
  const { clock, server, stored, recorder, record } = setUp();
  record("one");
  await recorder.flush(1000);
  assert.equal(stored.size, 1);
  server.intercept = () => new Promise<void>((resolve) => setImmediate(resolve));
  record("two");
  recorder.close();
  record("three");
  await clock.advance(minute);
  assert.equal(server.asked.length, 2);
  assert.equal(clock.timers, 0);
});
