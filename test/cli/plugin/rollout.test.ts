import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { setAnnotations } from "../../../src/api/names.ts";
import type { NCAppSet } from "../../../src/api/types.ts";
import type { Io } from "../../../src/cli/command.ts";
import { controllerRevisions, ncapps, ncappsets, resourcePath } from "../../../src/kube/resources.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { accept, line, withServer } from "../../kube/fake-server.ts";
import { callPlugin } from "./call-plugin.ts";
import { appOf, appSet, condition, revision, type SetChanges } from "./set-scene.ts";

const path = resourcePath(ncappsets, { namespace: "shop", name: "web" });

function createApi(changes?: SetChanges): FakeApi {
  const api = new FakeApi();
  api.add(ncappsets, appSet(changes));
  for (const item of [revision(1, "web-old"), revision(2, "web-new")]) api.add(controllerRevisions, item);
  // A revision of another set.
  const other = revision(7, "other-rev");
  api.add(
    controllerRevisions,
    { ...other, metadata: { ...other.metadata, ownerReferences: [] } } as typeof other,
  );
  return api;
}

const rollout = (api: FakeApi, words: string[], io?: Partial<Io>) =>
  withServer(api.answer, ({ url }) => callPlugin(url, ["rollout", ...words], io));

/** Lets the watch of sets report these changes, one after the other. */
function reportChanges(api: FakeApi, ...changes: SetChanges[]): void {
  api.intercept = ({ path, query }) => {
    if (query?.watch !== "true" || query.sendInitialEvents || !path.endsWith("/ncappsets")) return undefined;
    const stored = api.get("/apis/app.example.com/v1alpha1/namespaces/shop/ncappsets/web");
    const lines = changes.map((change, index) => {
      const set: NCAppSet = appSet(change);
      return line("MODIFIED", {
        ...set,
        metadata: {
          ...set.metadata,
          resourceVersion: String(Number(stored.metadata.resourceVersion) + 1 + index),
        },
      });
    });
    return (response: ServerResponse) => accept(response, ...lines);
  };
}

const under = (updated: number, available = updated): SetChanges => ({
  status: { updated, available, conditions: [condition("Progressing", "True", "RolloutInProgress")] },
});
const complete: SetChanges = {
  status: {
    updated: 3,
    available: 3,
    conditions: [condition("Progressing", "True", "RolloutComplete", "all is new")],
  },
};
const stalled: SetChanges = {
  status: {
    failed: 1,
    conditions: [
      condition("Progressing", "False", "Stalled", "stopped"),
      condition("Stalled", "True", "FailedApps", "the rollout of web-new was stopped: 1 app has failed"),
    ],
  },
};

test("status waits until the rollout is complete, with a line for each change", async () => {
  const api = createApi(under(1));
  reportChanges(api, under(2, 1), under(2, 1), under(2), complete);
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 0);
  assert.deepEqual(stdout.trim().split("\n"), [
    "set shop/web: 1 of 3 apps are updated, 1 are available",
    "set shop/web: 2 of 3 apps are updated, 1 are available",
    "set shop/web: 2 of 3 apps are updated, 2 are available",
    "set shop/web: complete: all is new",
  ]);
});

test("status on a terminal draws a bar in place", async () => {
  const api = createApi(under(1));
  reportChanges(api, complete);
  const { stdout } = await rollout(api, ["status", "web"], { columns: 60 });
  const drawn = stdout.split("\r\x1b[K").slice(1);
  assert.equal(drawn[0], "set shop/web: [██████░░░░░░░░░░░░░░] 1/3 1 of 3 apps are up");
  assert.equal(drawn.at(-1), "set shop/web: [████████████████████] 3/3 complete: all is new\n");
});

test("status of a rollout that stalls exits with 1 and names the nodes that fail, once", async () => {
  const api = createApi(under(1));
  api.add(ncapps, appOf("edge-1", "new", { phase: "BackOff", reason: "Error", message: "exit 1" }));
  reportChanges(api, { status: { ...under(1).status, failed: 1 } }, stalled);
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 1);
  assert.equal(stdout.split("shop/web-edge-1 on edge-1: BackOff: Error: exit 1").length, 2);
  assert.match(stdout, /\nset shop\/web: stalled: the rollout of web-new was stopped: 1 app has failed\n$/);
});

test("status gives up after --timeout, prints once with --watch=false, and ends with a deleted set", async () => {
  const late = await rollout(createApi(under(1)), ["status", "web", "--timeout", "50ms"]);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /timed out after 0\.05 s: set shop\/web: 1 of 3 apps are updated/);
  const once = await rollout(createApi(under(1)), ["status", "web", "--watch=false"]);
  assert.deepEqual([once.code, once.stdout.split("\n").length], [0, 2]);
  assert.equal((await rollout(createApi(stalled), ["status", "web", "--watch=false"])).code, 1);

  const api = createApi(under(1));
  api.intercept = ({ path, query }) =>
    query?.watch === "true" && !query.sendInitialEvents && path.endsWith("/ncappsets")
      ? (response: ServerResponse) => accept(response, line("DELETED", { ...api.get(path + "/web") }))
      : undefined;
  const gone = await rollout(api, ["status", "web"]);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /set shop\/web was deleted/);
});

test("history lists the revisions of the set, and shows the template of one", async () => {
  const { stdout } = await rollout(createApi(), ["history", "web"]);
  assert.match(stdout, /^REVISION +NAME +STATE/);
  assert.deepEqual(stdout.match(/^\d+ +\S+/gm)?.map((row) => row.split(/ +/)[1]), ["web-old", "web-new"]);
  const one = await rollout(createApi(), ["history", "web", "--revision", "1"]);
  assert.match(one.stdout, /^spec:\n {2}shellFile: \/srv\/old\.sh$/m);
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

test("what cannot be done is refused with what to use instead", async () => {
  const cases: [string[], number, RegExp][] = [
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
    [["undo", "web", "--to-revision", "7"], 1, /set shop\/web has no revision 7; there are: 1, 2/],
  ];
  for (const [words, expected, message] of cases) {
    const { code, stderr } = await rollout(createApi(), words);
    assert.match(stderr, message);
    assert.equal(code, expected, stderr);
  }
});
