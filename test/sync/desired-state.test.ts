import assert from "node:assert/strict";
import { test } from "node:test";
import { createDesiredState } from "../../src/sync/desired-state.ts";
import { ncapp } from "../builders.ts";

const app = (name: string, uid = "uid-1") =>
  ncapp({ metadata: { name, uid }, spec: { shellFile: "/opt/web.sh" } });

test("a source is complete only after its first whole list", () => {
  const state = createDesiredState(["api-server"], () => {});
  const sink = state.sinkFor("api-server");
  sink.upsert({ app: app("web"), source: "api-server" });
  sink.reportProblems([{ message: "503" }]);
  assert.deepEqual([...state.union().complete], []);
  sink.replace([{ app: app("web"), source: "api-server" }]);
  assert.deepEqual([...state.union().complete], ["api-server"]);
});

test("a problem removes nothing and is reported", () => {
  const state = createDesiredState(["api-server"], () => {});
  const sink = state.sinkFor("api-server");
  sink.replace([{ app: app("web"), source: "api-server" }]);
  sink.reportProblems([{ message: "items: null" }]);
  assert.deepEqual([...state.union().apps.keys()], ["default/web"]);
  assert.deepEqual(state.union().problems, [{ message: "items: null" }]);
});

test("a removal of an older object leaves its successor of the same name alone", () => {
  const state = createDesiredState(["api-server"], () => {});
  const sink = state.sinkFor("api-server");
  sink.upsert({ app: app("web", "uid-2"), source: "api-server" });
  sink.remove("default/web", "uid-1");
  assert.equal(state.union().apps.size, 1);
  sink.remove("default/web", "uid-2");
  assert.equal(state.union().apps.size, 0);
});

test("two sources with one name: the first in the order wins, the other is reported with its place", () => {
  const state = createDesiredState(["api-server", "manifests"], () => {});
  state.sinkFor("manifests").replace([{
    app: app("web", "local"),
    source: "manifests",
    origin: "/etc/web.yaml",
  }]);
  state.sinkFor("api-server").replace([{ app: app("web", "remote"), source: "api-server" }]);
  const { apps, problems } = state.union();
  assert.equal(apps.get("default/web")?.app.metadata.uid, "remote");
  assert.match(
    problems[0]?.message ?? "",
    /default\/web is defined by api-server and by manifests \(\/etc\/web\.yaml\)/,
  );
});

test("two files with one name: the first wins, both are named, and the other takes over when the first is gone", () => {
  const state = createDesiredState(["manifests"], () => {});
  const sink = state.sinkFor("manifests");
  const from = (file: string) => ({
    app: app("web", file),
    source: "manifests",
    origin: `/etc/${file}.yaml`,
  });
  const uid = () => state.union().apps.get("default/web")?.app.metadata.uid;
  sink.replace([from("a"), from("b"), from("c")]);
  assert.equal(uid(), "a");
  assert.deepEqual(
    state.union().problems,
    ["b", "c"].map((file) => ({
      message: `default/web is defined by manifests (/etc/a.yaml) and by manifests (/etc/${file}.yaml): ` +
        "the first one wins",
      origin: `/etc/${file}.yaml`,
      ignored: "default/web",
    })),
  );
  sink.replace([from("b"), from("c")]);
  assert.equal(uid(), "b");
  sink.remove("default/web", "b");
  assert.deepEqual([uid(), state.union().problems], ["c", []]);
  sink.remove("default/web", "c");
  assert.equal(state.union().apps.size, 0);
});

test("one file with an app twice: the first wins and the file is named once", () => {
  const state = createDesiredState(["manifests"], () => {});
  const item = { app: app("web"), source: "manifests", origin: "/etc/a.yaml" };
  const second = { ...item, app: { ...app("web"), spec: { shellFile: "/opt/other.sh" } } };
  state.sinkFor("manifests").replace([item, second]);
  const { apps, problems } = state.union();
  assert.equal(apps.get("default/web")?.app.spec.shellFile, "/opt/web.sh");
  assert.deepEqual(problems.map(({ message }) => message), [
    "default/web is defined more than once by manifests (/etc/a.yaml): the first one wins",
  ]);
});

test("every change is announced", () => {
  let changes = 0;
  const sink = createDesiredState(["manifests"], () => changes++).sinkFor("manifests");
  sink.replace([]);
  sink.upsert({ app: app("web"), source: "manifests" });
  sink.remove("default/web", "uid-1");
  sink.reportProblems([]);
  assert.equal(changes, 4);
});
