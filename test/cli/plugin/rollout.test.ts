import assert from "node:assert/strict";
import { test } from "node:test";
import { setAnnotations } from "../../../src/api/names.ts";
import type { NCAppSet } from "../../../src/api/types.ts";
import { controllerRevisions, resourcePath } from "../../../src/kube/resources.ts";
import type { FakeApi } from "../../kube/fake-api.ts";
import { condition, createApi, path, revision, rollout, type SetChanges } from "./set-scene.ts";

const pathOf = (name: string) => resourcePath(controllerRevisions, { namespace: "shop", name });

test("history lists the revisions of the set with state and cause, the oldest first, and shows the template of one", async () => {
  const api = createApi();
  api.touch(pathOf("web-new"), (revision) => {
    revision.metadata.annotations = { "kubernetes.io/change-cause": "version 1.4" };
  });
  const { stdout } = await rollout(api, ["history", "web"]);
  assert.deepEqual(stdout.replaceAll(/\d+[smhd](\d+h)? /g, "AGE ").replaceAll(/ +/g, " ").split("\n"), [
    "REVISION NAME STATE AGE CHANGE-CAUSE",
    "1 web-old current,stable AGE -",
    "2 web-new update AGE version 1.4",
    "",
  ]);
  const one = await rollout(createApi(), ["history", "web", "--revision", "1"]);
  assert.match(one.stdout, /^spec:\n {2}shellFile: \/srv\/old\.sh$/m);
  const none = await rollout(createApi({}, []), ["history", "web"]);
  assert.equal(none.stdout, "set shop/web has no revisions yet.\n");
});

test("undo replaces the whole template, and keeps the rest of the spec", async () => {
  const api = createApi({ spec: { minReadySeconds: 5 } });
  api.touch(path, (set) => set.spec.template.spec.cpuPCT = "20");
  const { code, stdout } = await rollout(api, ["undo", "web"]);
  assert.equal(code, 0);
  assert.equal(stdout, "set shop/web goes back to revision 1 (web-old)\n");
  const { spec } = api.get(path);
  assert.deepEqual(spec.template.spec, { shellFile: "/srv/old.sh" });
  assert.equal(spec.minReadySeconds, 5);
});

test("undo takes back a promotion, so that the next try of the revision starts with the canary", async () => {
  const annotations = { [setAnnotations.promote]: "web-new", note: "x" };
  const api = createApi({ metadata: { annotations } });
  assert.equal((await rollout(api, ["undo", "web"])).code, 0);
  assert.deepEqual(api.get(path).metadata.annotations, { note: "x" });
});

test("undo of a change that the controller has not seen needs the number of a revision", async () => {
  const api = createApi({ metadata: { generation: 3 } });
  const { code, stderr } = await rollout(api, ["undo", "web"]);
  assert.equal(code, 1);
  assert.match(stderr, /the controller has not seen.*--to-revision/);
  assert.equal((await rollout(api, ["undo", "web", "--to-revision", "1"])).code, 0);
});

test("undo writes again after a change of the status, and not after a change of the spec", async () => {
  const conflicting = (change: (set: NCAppSet) => void) => {
    const api = createApi();
    let first = true;
    api.intercept = ({ method }) => {
      if (method === "PUT" && first) {
        first = false;
        api.touch(path, change);
      }
      return undefined;
    };
    return api;
  };
  const busy = conflicting((set) => set.status!.updated = 2);
  assert.equal((await rollout(busy, ["undo", "web", "--to-revision", "1"])).code, 0);
  assert.equal(busy.get(path).spec.template.spec.shellFile, "/srv/old.sh");
  const edited = conflicting((set) => Object.assign(set.metadata, { generation: 9 }));
  const { code, stderr } = await rollout(edited, ["undo", "web"]);
  assert.equal(code, 1);
  assert.match(stderr, /set shop\/web was changed by someone else in the meantime/);
  assert.equal(edited.get(path).spec.template.spec.shellFile, "/srv/new.sh");
});

test("pause, resume, restart and promote change the set", async () => {
  const api = createApi({ spec: { update: { canary: { count: 1 } } } });
  assert.equal((await rollout(api, ["pause", "web"])).stdout, "set shop/web paused\n");
  assert.equal(api.get(path).spec.paused, true);
  // As the controller does.
  const observe = () => api.touch(path, (set) => set.status.observedGeneration = set.metadata.generation);
  observe();
  assert.equal((await rollout(api, ["resume", "shop/web"])).stdout, "set shop/web resumed\n");
  observe();
  assert.equal((await rollout(api, ["promote", "web"])).stdout, "set shop/web: web-new promoted\n");
  assert.equal(api.get(path).metadata.annotations[setAnnotations.promote], "web-new");
  assert.equal((await rollout(api, ["restart", "web"])).code, 0);
  assert.match(api.get(path).spec.template.metadata.annotations["app.example.com/restartedAt"], /^2/);
  assert.equal(api.get(path).spec.template.spec.shellFile, "/srv/new.sh");
});

test("retry, pause and resume of a job change what the controller reads", async () => {
  const failed = [
    condition("Complete", "False", "FailedIndexes"),
    condition("Failed", "True", "FailedIndexes"),
  ];
  const api = createApi({ spec: { job: { suspend: false } }, status: { conditions: failed } });
  const { code, stdout } = await rollout(api, ["retry", "web"]);
  assert.deepEqual([code, stdout], [0, "set shop/web: apps that have not completed run again\n"]);
  assert.match(api.get(path).metadata.annotations[setAnnotations.retry], /^20/);
  assert.equal((await rollout(api, ["pause", "web"])).stdout, "set shop/web suspended\n");
  assert.equal(api.get(path).spec.job.suspend, true);
  assert.equal((await rollout(api, ["resume", "web"])).stdout, "set shop/web resumed\n");
  assert.deepEqual([api.get(path).spec.job.suspend, api.get(path).spec.paused], [false, undefined]);
});

test("undo takes the newest revision that is not being rolled out, or the given one", async () => {
  const revisions = [revision(1, "web-first"), revision(2, "web-old"), revision(3, "web-new")];
  for (
    const [words, shellFile] of [[[], "/srv/old.sh"], [["--to-revision", "1"], "/srv/first.sh"]] as const
  ) {
    const api = createApi({}, revisions);
    assert.equal((await rollout(api, ["undo", "web", ...words])).code, 0);
    assert.equal(api.get(path).spec.template.spec.shellFile, shellFile);
  }
});

test("what cannot be done is refused with what to use instead", async () => {
  const canary: SetChanges = { spec: { update: { canary: { count: 1 } } } };
  const paused: SetChanges = { spec: { paused: true } };
  const promoted = { metadata: { annotations: { [setAnnotations.promote]: "web-new" } } };
  const isStalled = [condition("Stalled", "True", "FailedApps", "1 app has failed")];
  const odd = revision(1, "web-odd", { data: undefined });
  const cases: [string[], number, RegExp, FakeApi?][] = [
    [[], 2, /rollout needs a verb; use status, history/],
    [["staus", "web"], 2, /no rollout "staus"; did you mean status\?/],
    [["status"], 2, /rollout status takes one set/],
    [["pause", "web", "wob"], 2, /rollout pause takes one set/],
    [["pause", "web", "--to-revision", "1"], 2, /--to-revision belongs to rollout undo, not to pause/],
    [["undo", "web", "--to-revision", "zero"], 2, /--to-revision "zero": use a whole number/],
    [["status", "web", "--timeout", "soon"], 2, /--timeout "soon"/],
    [["status", "wbe"], 1, /no NCAppSet shop\/wbe; did you mean web\?\n$/],
    [["status", "ncappset/wbe"], 1, /no NCAppSet shop\/wbe; did you mean web\?\n$/],
    [["status", "A/B/C"], 2, /"A\/B\/C" is not the name of a set/],
    [["resume", "web"], 1, /set shop\/web is not paused/],
    [
      ["pause", "web"],
      1,
      /shop\/web is paused already; '.* rollout resume shop\/web' continues/,
      createApi(paused),
    ],
    [["restart", "web"], 1, /is paused, so nothing would restart/, createApi(paused)],
    [["undo", "web", "--to-revision", "7"], 1, /set shop\/web has no revision 7; there are: 1, 2/],
    [["undo", "web", "--to-revision", "2"], 1, /set shop\/web has the template of revision 2 already/],
    [["undo", "web"], 1, /set shop\/web has no earlier revision/, createApi({}, [revision(2, "web-new")])],
    [["undo", "web"], 1, /ControllerRevision web-odd of set shop\/web has no template/, createApi({}, [odd])],
    [["promote", "web"], 1, /set shop\/web cannot be promoted: it has no spec\.update\.canary/],
  ];
  const job = (type: string, status: "True" | "False", more: SetChanges["status"] = {}) =>
    createApi({
      spec: { job: {} },
      status: {
        ...more,
        conditions: [condition("Complete", "False", "x"), condition(type, status, "x")].slice(
          type === "Complete" ? 1 : 0,
        ),
      },
    });
  cases.push(
    [["retry", "web"], 1, /set shop\/web is no job; to try a stopped revision again: '.* restart shop\/web'/],
    [["retry", "web"], 1, /shop\/web is complete: there is nothing to retry/, job("Complete", "True")],
    [["retry", "web"], 1, /still running, and no app has failed/, job("Failed", "False")],
    [["restart", "web"], 1, /is a job, .*'.* retry shop\/web' runs the rest/, job("Failed", "True")],
    [["resume", "web"], 1, /shop\/web is not suspended/, job("Failed", "True")],
  );
  const notPromoted: [SetChanges, RegExp][] = [
    [
      { status: { observedGeneration: 1 } },
      /set shop\/web cannot be promoted: .*has not seen its last change/,
    ],
    [{ status: { stableRevision: "web-new" } }, /cannot be promoted: all apps have web-new already/],
    [promoted, /cannot be promoted: .*was promoted already/],
    [
      { status: { conditions: isStalled } },
      /cannot be promoted: 1 app has failed; to go back: '.* undo shop\/web'/,
    ],
  ];
  for (const [changes, message] of notPromoted) {
    cases.push([["promote", "web"], 1, message, createApi({ ...canary, ...changes })]);
  }
  for (const [words, expected, message, api = createApi()] of cases) {
    const { code, stderr } = await rollout(api, words);
    assert.match(stderr, message);
    assert.equal(code, expected, stderr);
  }
});
