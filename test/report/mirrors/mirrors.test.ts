import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp } from "../../../src/api/types.ts";
import { createMirrors, type MirrorsOptions, type ServerApp } from "../../../src/report/mirrors/mirrors.ts";
import { type MirrorAction, planMirrors } from "../../../src/report/mirrors/mirror-plan.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { waitFor } from "../../wait-for.ts";
import { createTestLog } from "../test-log.ts";
import { ncapp } from "../../builders.ts";

const folder = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const markKey = "app.example.com/config.mirror";
const uidKey = "app.example.com/config.mirror-uid";

const local = (name: string, spec: NCApp["spec"] = { shellFile: "/opt/run.sh" }): NCApp =>
  ncapp({ metadata: { name, uid: "made-up-locally", labels: { team: "edge" } }, spec });

/** The mirror that `planMirrors` wants, as if the server had it. */
const mirrored = (app: NCApp, change: { uid?: string; node?: string; taken?: boolean } = {}): ServerApp => {
  const { node = "n1", taken = false } = change;
  const [action] = planMirrors([app], [], {
    node,
    complete: false,
    taken: new Set(taken ? [`default/${app.metadata.name}`] : []),
  });
  assert.equal(action?.kind, "create");
  const { body } = action as Extract<MirrorAction, { kind: "create" }>;
  const { uid = "u1" } = change;
  const metadata = {
    ...body.metadata,
    annotations: { ...body.metadata.annotations, [uidKey]: uid },
    namespace: "default",
    uid,
    resourceVersion: "5",
    generation: 1,
  };
  // The server adds defaults.
  return { ...body, metadata, spec: { ...body.spec, pidsMax: 4096 } };
};
const plan = (apps: NCApp[], existing: ServerApp[], complete = true) =>
  planMirrors(apps, existing, { node: "n1", complete }).map((action) =>
    `${action.kind} ${action.kind === "create" ? action.body.metadata.name : action.mirror.metadata.uid}`
  );

test("planMirrors() creates a mirror, bound to the node and marked, without the uid and without values of variables", () => {
  const spec: NCApp["spec"] = { shellFile: "/opt/run.sh", env: [{ name: "PASSWORD", value: "secret" }] };
  const [action] = planMirrors([local("web", spec)], [], { node: "n1", complete: true });
  assert.deepEqual(action, {
    kind: "create",
    key: "default/web",
    body: {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: {
        name: "web",
        namespace: "default",
        labels: { team: "edge" },
        annotations: {
          [markKey]: (action as { body: NCApp }).body.metadata.annotations![markKey],
          "app.example.com/config.mirror-of": "web",
        },
      },
      spec: {
        shellFile: "/opt/run.sh",
        nodeName: "n1",
        env: [{ name: "PASSWORD", value: "(set on the node)" }],
      },
    },
  });
  assert.match(JSON.stringify(action), /"n1\/[0-9a-f]{16}"/);
});

test("planMirrors() does nothing if all mirrors exist, whatever the server added", () => {
  assert.deepEqual(plan([local("web")], [mirrored(local("web"))]), []);
});

test("planMirrors() updates a mirror whose app changed, in spec, labels or annotations", () => {
  const mirror = mirrored(local("web"));
  assert.deepEqual(plan([local("web", { shellFile: "/opt/other.sh" })], [mirror]), ["update u1"]);
  const app = local("web");
  assert.deepEqual(plan([{ ...app, metadata: { ...app.metadata, labels: {} } }], [mirror]), ["update u1"]);
  const annotations = { "app.example.com/restartedAt": "now" };
  assert.deepEqual(plan([{ ...app, metadata: { ...app.metadata, annotations } }], [mirror]), ["update u1"]);
});

test("planMirrors() updates by a patch that removes what is gone and names uid and version", () => {
  const mirror = mirrored(local("web", { shellFile: "/opt/run.sh", cpuPCT: "20" }));
  mirror.metadata.annotations!.others = "stay";
  const [action] = planMirrors([local("web")], [mirror], { node: "n1", complete: true });
  const { metadata, spec } =
    (action as { patch: { metadata: NCApp["metadata"]; spec: NCApp["spec"] } }).patch;
  assert.deepEqual(spec, { cpuPCT: null, pidsMax: null });
  assert.deepEqual([metadata.uid, metadata.resourceVersion, metadata.labels], ["u1", "5", undefined]);
  assert.deepEqual(Object.keys(metadata.annotations!), [markKey]);
});

test("planMirrors() restores a mirror that another client edited after this agent wrote it", () => {
  const mirror = mirrored(local("web"));
  mirror.metadata.generation = 3;
  const context = { node: "n1", complete: true };
  const kinds = (generation: number) =>
    planMirrors([local("web")], [mirror], { ...context, written: new Map([["u1", generation]]) }).map((
      { kind },
    ) => kind);
  assert.deepEqual([kinds(3), kinds(2)], [[], ["update"]]);
});

test("planMirrors() deletes a mirror whose app is gone, once all local sources are known", () => {
  assert.deepEqual(plan([], [mirrored(local("web"))], false), []);
  assert.deepEqual(plan([], [mirrored(local("web"))], true), ["delete u1"]);
});

test("planMirrors() never touches apps that are not mirrors, nor mirrors of other nodes", () => {
  const real = mirrored(local("real"));
  delete real.metadata.annotations![markKey];
  const foreign = mirrored(local("foreign"), { node: "n2" });
  const claimed = mirrored(local("claimed"), { node: "n2" });
  claimed.spec.nodeName = "n1";
  const longer = mirrored(local("longer"), { node: "n11" });
  longer.spec.nodeName = "n1";
  const moved = mirrored(local("moved"));
  moved.spec.nodeName = "n2";
  assert.deepEqual(plan([], [real, foreign, claimed, longer, moved]), []);
});

/** The same object as an earlier agent made it, or one that was killed before it wrote the uid. */
const withoutUid = (mirror: ServerApp): ServerApp => {
  const { [uidKey]: _, ...annotations } = mirror.metadata.annotations ?? {};
  return { ...mirror, metadata: { ...mirror.metadata, annotations } };
};

test("planMirrors() leaves a copy of a mirror alone, under any name", () => {
  const mirror = mirrored(local("web"));
  const copy = (name: string): ServerApp => ({
    ...mirror,
    metadata: { ...mirror.metadata, name, uid: `copy-${name}` },
  });
  assert.deepEqual(plan([], [copy("web"), copy("web-2")]), []);
  assert.deepEqual(plan([local("web")], [mirror, copy("web-2")]), []);
  assert.deepEqual(plan([local("web")], [copy("web")]), ["create web"]);
});

test("planMirrors() adopts a mirror without a uid by the name of its app, and deletes none that it does not adopt", () => {
  const early = withoutUid(mirrored(local("web")));
  const [action] = planMirrors([local("web")], [early], { node: "n1", complete: true });
  const { metadata } = (action as { patch: { metadata: NCApp["metadata"] } }).patch;
  assert.deepEqual(metadata.annotations, { [uidKey]: "u1" });
  const other = { ...early, metadata: { ...early.metadata, name: "web-2", uid: "u2" } };
  assert.deepEqual(plan([local("web")], [mirrored(local("web")), other]), []);
  assert.deepEqual(plan([], [early, other]), []);
});

test("planMirrors() adds the node's name to a mirror whose name is taken, keeps it, and leaves no duplicate", () => {
  const app = local("web");
  const [action] = planMirrors([app], [], { node: "n1", complete: true, taken: new Set(["default/web"]) });
  assert.equal((action as { body: NCApp }).body.metadata.name, "web-n1");
  const suffixed = mirrored(app, { taken: true, uid: "u2" });
  assert.deepEqual(plan([app], [suffixed]), []);
  assert.deepEqual(plan([app], [suffixed, mirrored(app)]), ["delete u2"]);
  assert.deepEqual(plan([], [suffixed]), ["delete u2"]);
});

const setUp = (options: Partial<MirrorsOptions> = {}) => {
  const api = new FakeApi();
  const log = createTestLog();
  let time = 1_000_000;
  const mirrors = createMirrors({ client: api.client, node: "n1", log, now: () => time, ...options });
  const existing = () =>
    [...api.objects.values()].filter(({ spec }) => spec.nodeName === "n1") as ServerApp[];
  return { api, log, mirrors, existing, pass: (ms: number) => void (time += ms) };
};

test("sync() writes the uid into a new mirror even if its status was written meanwhile", async () => {
  const onFound = () => void api.touch(`${folder}/web`, (mirror) => mirror.status = { phase: "Running" });
  const { api, mirrors, existing } = setUp({ onFound });
  await mirrors.sync([local("web")], [], true);
  const { metadata } = api.get(`${folder}/web`);
  assert.equal(metadata.annotations?.[uidKey], metadata.uid);
  await mirrors.sync([], existing(), true);
  assert.equal(api.objects.has(`${folder}/web`), false, "so it goes with its app");
});

test("sync() creates mirrors and returns where the status of their apps goes", async () => {
  const { api, mirrors } = setUp();
  await mirrors.sync([local("web")], [], true);
  const { uid, resourceVersion } = api.get(`${folder}/web`).metadata;
  assert.deepEqual(mirrors.targetOf("default/web"), {
    namespace: "default",
    name: "web",
    uid,
    resourceVersion,
  });
  assert.equal(mirrors.targetOf("default/other"), undefined);
});

test("sync() sends nothing again while the watch has not delivered its write", async () => {
  const { api, mirrors, existing } = setUp();
  for (let times = 0; times < 3; times++) await mirrors.sync([local("web")], [], true);
  assert.deepEqual(api.takeAsked(), [`POST ${folder}`, `PATCH ${folder}/web`]);
  assert.ok(mirrors.targetOf("default/web"));
  const old = existing();
  const changed = local("web", { shellFile: "/opt/new.sh" });
  for (let times = 0; times < 3; times++) await mirrors.sync([changed], old, true);
  assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/web`]);
  assert.equal(api.get(`${folder}/web`).spec.shellFile, "/opt/new.sh");
});

test("sync() restores a mirror that a user deleted or edited", async () => {
  const { api, mirrors, existing } = setUp();
  const apps = [local("web")];
  await mirrors.sync(apps, [], true);
  await mirrors.sync(apps, existing(), true);
  api.objects.clear();
  await mirrors.sync(apps, existing(), true);
  assert.ok(api.get(`${folder}/web`));

  await mirrors.sync(apps, existing(), true);
  const mirror = api.get(`${folder}/web`);
  api.put(`${folder}/web`, {
    ...mirror,
    spec: { ...mirror.spec, cpuPCT: "99" },
    metadata: { ...mirror.metadata, generation: 2 },
  });
  await mirrors.sync(apps, existing(), true);
  assert.equal(api.get(`${folder}/web`).spec.cpuPCT, undefined);
});

test("sync() reports each mirror once: when it finds, creates or recreates it", async () => {
  const found: string[] = [];
  const onFound = (key: string, { metadata }: ServerApp) => found.push(`${key} ${metadata.uid}`);
  const { api, mirrors, existing } = setUp({ onFound });
  const apps = [local("web"), local("job")];
  api.put(`${folder}/web`, mirrored(local("web"), { uid: "earlier" }));
  const uidOf = (name: string) => api.get(`${folder}/${name}`).metadata.uid;
  for (let times = 0; times < 3; times++) await mirrors.sync(apps, existing(), true);
  assert.deepEqual(found.splice(0), [`default/web ${uidOf("web")}`, `default/job ${uidOf("job")}`]);
  api.objects.delete(`${folder}/job`);
  for (let times = 0; times < 3; times++) await mirrors.sync(apps, existing(), true);
  assert.deepEqual(found, [`default/job ${uidOf("job")}`]);
});

test("sync() creates no mirror outside of the watched namespace, sends no request for it, and logs it once", async () => {
  const { api, log, mirrors, existing, pass } = setUp({ namespace: "default" });
  const elsewhere = { ...local("web"), metadata: { name: "web", namespace: "edge" } };
  for (let times = 0; times < 3; times++) {
    await mirrors.sync([local("web"), elsewhere], existing(), true);
    pass(20_000);
  }
  assert.deepEqual(api.takeAsked(), [`POST ${folder}`, `PATCH ${folder}/web`]);
  assert.equal(mirrors.targetOf("edge/web"), undefined);
  assert.ok(mirrors.targetOf("default/web"));
  assert.deepEqual(log.lines, ["info a local app has no mirror: this agent watches another namespace"]);
});

test("sync() deletes the mirror of an app that is gone, by its uid, and no copy", async () => {
  const { api, mirrors, existing } = setUp();
  await mirrors.sync([local("web")], [], true);
  const seen = existing();
  const original = api.get(`${folder}/web`);
  api.put(`${folder}/web`, { ...original, metadata: { ...original.metadata, uid: "another" } });
  await mirrors.sync([], seen, true);
  await mirrors.sync([], existing(), true);
  assert.equal(api.get(`${folder}/web`).metadata.uid, "another");
  api.put(`${folder}/web`, original);
  await mirrors.sync([], existing(), true);
  assert.equal(api.objects.size, 0);
});

test("sync() proves a mirror whose uid an agent did not write, and reports one without a local app once", async () => {
  const { api, log, mirrors, existing } = setUp();
  for (const name of ["web", "gone"]) {
    api.put(`${folder}/${name}`, withoutUid(mirrored(local(name), { uid: name })));
  }
  for (let times = 0; times < 3; times++) await mirrors.sync([local("web")], existing(), true);
  const { uid, annotations } = api.get(`${folder}/web`).metadata;
  assert.equal(annotations[uidKey], uid);
  assert.ok(api.get(`${folder}/gone`));
  assert.deepEqual(log.lines, ["warn an NCApp has the form of a mirror, but no local app: it does not run"]);
});

test("sync() reports a namespace without the right to write mirrors once, and asks once per five minutes for all its apps", async () => {
  const { api, log, mirrors, existing, pass } = setUp();
  const edge = { ...local("web"), metadata: { name: "web", namespace: "edge" } };
  const apps = [local("a"), local("b"), local("c"), edge];
  api.intercept = (request) => {
    if (!request.path.includes("/default/")) return;
    throw problem(request, 403, "Forbidden", 'User "nckubelet:n1" cannot create resource "ncapps"');
  };
  for (let seconds = 0; seconds < 3600; seconds += 10) {
    await mirrors.sync(apps, existing(), true);
    pass(10_000);
  }
  assert.equal(api.takeAsked().filter((request) => request === `POST ${folder}`).length, 12);
  assert.deepEqual(log.lines, [
    "info agents may not write mirrors in this namespace; kubectl does not show its local apps",
  ]);
  assert.match(log.text(), /kubectl -n default create rolebinding nckubelet-mirror/);
  assert.ok(mirrors.targetOf("edge/web"));
  api.intercept = () => undefined;
  pass(300_000);
  await mirrors.sync(apps, existing(), true);
  for (const name of ["a", "b", "c"]) assert.ok(api.get(`${folder}/${name}`));
});

test("sync() leaves an app of the same name alone and shows the local one under another name", async () => {
  const { api, mirrors, existing } = setUp();
  const real = {
    ...local("web", { shellFile: "/real.sh", nodeName: "n2" }),
    metadata: { name: "web", namespace: "default" },
  };
  api.put(`${folder}/web`, real);
  await mirrors.sync([local("web")], existing(), true);
  await mirrors.sync([local("web")], existing(), true);
  assert.equal(api.get(`${folder}/web`).spec.shellFile, "/real.sh");
  assert.equal(mirrors.targetOf("default/web")?.name, "web-n1");
});

test("sync() retries after waits that grow, and never throws", async () => {
  const { api, log, mirrors, existing, pass } = setUp();
  api.intercept = () => 403;
  for (let seconds = 0; seconds < 3600; seconds += 10) {
    await mirrors.sync([local("web")], existing(), true);
    pass(10_000);
  }
  assert.ok(api.asked.length < 30, `${api.asked.length} requests in an hour`);
  assert.match(log.text(), /cannot create the mirror/);
  api.intercept = () => undefined;
  pass(300_000);
  await mirrors.sync([local("web")], existing(), true);
  assert.ok(api.get(`${folder}/web`));
});

test("sync() continues with the other apps if one fails, and with the newest state", async () => {
  const { api, mirrors } = setUp();
  api.intercept = (request) => {
    if (JSON.stringify(request.body).includes('"bad"')) throw problem(request, 500, "InternalError");
  };
  const first = mirrors.sync([local("bad"), local("old")], [], true);
  await Promise.all([first, mirrors.sync([local("bad"), local("good")], [], true)]);
  assert.ok(api.get(`${folder}/good`));
});

test("sync() sends one request, not one per app, if there is no answer", async () => {
  const { api, mirrors } = setUp();
  api.intercept = () => 0;
  await mirrors.sync(["a", "b", "c"].map((name) => local(name)), [], true);
  assert.equal(api.asked.length, 1);
});

test("planMirrors() shows no secret of a URL or of a probe", () => {
  const httpHeaders = [{ name: "Authorization", value: "Bearer hunter2" }];
  const [action] = planMirrors(
    [local("web", {
      shellFile: "https://me:hunter2@example.com/run.sh?sig=hunter2",
      livenessProbe: { httpGet: { port: 80, httpHeaders } },
    })],
    [],
    { node: "n1", complete: true },
  );
  assert.doesNotMatch(JSON.stringify(action), /hunter2/);
});

test("sync() retries in time even if the clock is set back", async () => {
  using clock = takeMachineClock();
  const api = new FakeApi();
  const mirrors = createMirrors({ client: api.client, node: "n1", log: createTestLog() });
  api.intercept = () => 500;
  await mirrors.sync([local("web")], [], true);
  api.intercept = () => undefined;
  clock.setBack(3_600_000);
  await waitFor("the mirror is there", async () => {
    await mirrors.sync([local("web")], [], true);
    return api.get(`${folder}/web`) !== undefined;
  }, 10_000);
});
