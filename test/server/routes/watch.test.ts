import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../../src/api/names.ts";
import type { AppView } from "../../../src/server/view.ts";
import { waitFor } from "../../wait-for.ts";
import { listeners, serverWith, servicesWith, viewWith, web } from "../fake-agent.ts";
import { readerOf } from "../stream-reader.ts";

interface Line {
  type: string;
  object: {
    metadata: { name: string; uid: string };
    status: { phase: string };
    spec: { env?: { value?: string }[] };
  };
}

/** An agent whose apps a test changes, and watches of them. */
function watchedAgent(apps: AppView[]) {
  const known = new Map(apps.map((app) => [keyOf(app.app), app]));
  const listeners = new Set<(key: string) => void>();
  const services = servicesWith({
    view: viewWith({
      apps: () => [...known.values()],
      app: (namespace, name) => known.get(`${namespace}/${name}`),
      onChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    }),
  });
  const notify = (key: string) => listeners.forEach((listener) => listener(key));
  return {
    services,
    listeners,
    get: (query = "?watch=true", app = "") => serverWith(services).request(`/apps${app}${query}`),
    set(app: AppView) {
      known.set(keyOf(app.app), app);
      notify(keyOf(app.app));
    },
    remove(key: string) {
      known.delete(key);
      notify(key);
    },
    notify,
  };
}

function named(name: string, phase: "Running" | "Failed" = "Running", uid = `uid-${name}`): AppView {
  const metadata = { ...web.app.metadata, name, uid };
  return { ...web, app: { ...web.app, metadata }, status: { phase } };
}

const short = (text: string) =>
  text.trim().split("\n").map((line) => {
    const { type, object } = JSON.parse(line) as Line;
    return `${type} ${object.metadata.name} ${object.status.phase}`;
  });

test("a watch sends every app, then each change, as one line of JSON", async () => {
  const agent = watchedAgent([named("a"), named("b")]);
  const answer = await agent.get();
  assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
  const reader = readerOf(answer);
  await reader.lines(2);
  agent.set(named("c"));
  await reader.lines(3);
  agent.set(named("a", "Failed"));
  await reader.lines(4);
  agent.remove("default/b");
  assert.deepEqual(short(await reader.lines(5)), [
    "ADDED a Running",
    "ADDED b Running",
    "ADDED c Running",
    "MODIFIED a Failed",
    "DELETED b Running",
  ]);
  await reader.cancel();
});

test("a watch of one app sends its changes alone, and ends when it is deleted", async () => {
  const agent = watchedAgent([named("a"), named("b")]);
  const reader = readerOf(await agent.get("?watch=true", "/default/a"));
  await reader.lines(1);
  agent.set(named("b", "Failed"));
  agent.set(named("a", "Failed"));
  await reader.lines(2);
  agent.remove("default/a");
  assert.deepEqual(short(await reader.rest()), ["ADDED a Running", "MODIFIED a Failed", "DELETED a Failed"]);
  assert.equal(agent.listeners.size, 0);
  assert.equal((await agent.get("?watch=true", "/default/a")).status, 404);
});

test("a watch shows apps as the list does, without the values of their environment", async () => {
  const agent = watchedAgent([web]);
  const reader = readerOf(await agent.get());
  const { object } = JSON.parse(await reader.lines(1)) as Line;
  const { items } = await (await agent.get("")).json() as { items: unknown[] };
  assert.deepEqual(object, items[0]);
  assert.ok(!JSON.stringify(object).includes("hunter2"));
  await reader.cancel();
});

test("a slow reader gets the newest state of each app, and no line for what did not change", async () => {
  const agent = watchedAgent([named("a")]);
  const reader = readerOf(await agent.get());
  await reader.lines(1);
  for (let count = 0; count < 1000; count++) agent.set(named("a", count % 2 ? "Running" : "Failed"));
  for (let count = 0; count < 1000; count++) agent.set(named("b"));
  agent.set(named("gone"));
  agent.remove("default/gone");
  await reader.lines(3);
  agent.notify("default/b");
  agent.set(named("b", "Failed", "uid-of-another"));
  assert.deepEqual(short(await reader.lines(5)), [
    "ADDED a Running",
    "MODIFIED a Running",
    "ADDED b Running",
    "DELETED b Running",
    "ADDED b Failed",
  ]);
  await reader.cancel();
});

test("a watch ends with its client and frees its place; one too many is 429", async () => {
  const agent = watchedAgent([named("a")]);
  const readers = await Promise.all([1, 2].map(async () => readerOf(await agent.get())));
  await Promise.all(readers.map((reader) => reader.lines(1)));
  assert.equal(agent.listeners.size, 2);
  const refused = await agent.get();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "5");
  for (const reader of readers) await reader.cancel();
  await waitFor("the clients have left", () => agent.services.followers.now === 0);
  await waitFor("no listener remains", () => agent.listeners.size === 0);
});

test("a watch needs the same token as the list, and a wrong parameter is 400", async () => {
  assert.equal((await serverWith({}, listeners.tls).request("/apps?watch=true")).status, 401);
  for (const query of ["?watch=maybe", "?wach=true", "?watch=1&watch=1"]) {
    assert.equal((await watchedAgent([]).get(query)).status, 400, query);
  }
});
