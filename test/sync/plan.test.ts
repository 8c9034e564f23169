import assert from "node:assert/strict";
import { test } from "node:test";
import type { Union } from "../../src/sync/desired-state.ts";
import { findLeftOut, findOrphans, plan, shareSameApps } from "../../src/sync/plan.ts";
import type { SupervisedApp } from "../../src/supervisor/supervisor.ts";
import type { AppRecord, RunnableApp } from "../../src/supervisor/types.ts";
import { appWith, recordWith } from "../supervisor/fixtures.ts";

function union(apps: RunnableApp[], {
  complete = ["api-server"],
  sources = ["api-server", "manifests", "url", "socket"],
  source = "api-server",
  invalid,
}: {
  complete?: string[];
  sources?: string[];
  source?: string;
  invalid?: string;
} = {}): Union {
  const entries = apps.map((app) =>
    [`default/${app.metadata.name}`, { app, source, ...(invalid ? { invalid } : {}) }] as const
  );
  return { apps: new Map(entries), sources: new Set(sources), complete: new Set(complete), problems: [] };
}

function observed(app: RunnableApp, fields: Partial<AppRecord> = {}): SupervisedApp {
  const record = recordWith({ app, source: "api-server", ...fields });
  return { key: `default/${app.metadata.name}`, record };
}

const said = (actions: ReturnType<typeof plan>) => actions.map(({ kind, key }) => `${kind} ${key}`);

test("plan() assigns what is wanted and not known", () => {
  assert.deepEqual(said(plan(union([appWith()]), [])), ["assign default/web"]);
});

test("plan() does nothing for an app that is as desired, even after it was stored and read again", () => {
  const known = JSON.parse(JSON.stringify(appWith({ args: ["a"] })));
  assert.deepEqual(plan(union([appWith({ args: ["a"] })]), [observed(known)]), []);
});

test("plan() assigns a changed spec, a changed annotation and a new uid", () => {
  const known = observed(appWith());
  assert.deepEqual(said(plan(union([appWith({ cpuPCT: "5" })]), [known])), ["assign default/web"]);
  assert.deepEqual(said(plan(union([appWith({}, { annotations: { a: "b" } })]), [known])), [
    "assign default/web",
  ]);
  assert.deepEqual(said(plan(union([appWith({}, { uid: "uid-2" })]), [known])), ["assign default/web"]);
});

test("plan() withdraws an app only when its own source has given a complete list without it", () => {
  const known = observed(appWith());
  assert.deepEqual(said(plan(union([]), [known])), ["withdraw default/web"]);
  assert.deepEqual(plan(union([], { complete: [] }), [known]), []);
  assert.deepEqual(plan(union([], { complete: ["manifests"] }), [known]), []);
});

test("plan() withdraws once, and assigns again what comes back while it stops", () => {
  const known = observed(appWith(), { withdrawn: true });
  assert.deepEqual(plan(union([]), [known]), []);
  assert.deepEqual(said(plan(union([appWith()]), [known])), ["assign default/web"]);
});

test("plan() passes an invalid spec on once, for a known app and for a new one, so that it is reported", () => {
  const invalid = "spec.cpuPCT: 200";
  const broken = union([appWith({ args: ["x"] })], { invalid });
  assert.deepEqual(said(plan(broken, [observed(appWith())])), ["assign default/web"]);
  assert.deepEqual(said(plan(broken, [])), ["assign default/web"]);
  assert.deepEqual(plan(broken, [observed(appWith(), { invalid })]), []);
  assert.deepEqual(said(plan(broken, [observed(appWith(), { invalid: "spec.memPCT: 200" })])), [
    "assign default/web",
  ]);
});

test("plan() passes on that an invalid spec was edited again, though the same is wrong with it", () => {
  const invalid = "spec.cpuPCT: 200";
  const at = (generation: number) => {
    const app = appWith();
    return { ...app, metadata: { ...app.metadata, generation } };
  };
  const known = observed(at(2), { invalid });
  assert.deepEqual(plan(union([at(2)], { invalid }), [known]), []);
  assert.deepEqual(said(plan(union([at(3)], { invalid }), [known])), ["assign default/web"]);
});

test("plan() starts no more new apps than the node may have, and still updates those it has", () => {
  const known = observed(appWith());
  const wanted = union([
    appWith({ cpuPCT: "5" }),
    appWith({}, { name: "one" }),
    appWith({}, { name: "two" }),
  ]);
  assert.deepEqual(said(plan(wanted, [known], { maxApps: 2 })), ["assign default/web", "assign default/one"]);
});

test("findLeftOut() names the apps that plan() does not take, before and after the others were taken", () => {
  const [web, one] = [appWith(), appWith({}, { name: "one" })];
  const wanted = union([web, one, appWith({}, { name: "two" })]);
  assert.deepEqual(findLeftOut(wanted, [observed(web)], { maxApps: 2 }), ["default/two"]);
  assert.deepEqual(findLeftOut(wanted, [observed(web), observed(one)], { maxApps: 2 }), ["default/two"]);
  assert.deepEqual(findLeftOut(wanted, [observed(web), observed(one)], { maxApps: 1 }), ["default/two"]);
  assert.deepEqual(findLeftOut(wanted, [observed(web)], { maxApps: 3 }), []);
  assert.deepEqual(findLeftOut(wanted, []), []);
});

test("plan() does not hand an app to another source before its own has been listed", () => {
  const known = observed(appWith());
  const fromFile = (complete: string[]) =>
    union([appWith({}, { uid: "file" })], { source: "manifests", complete });
  assert.deepEqual(plan(fromFile(["manifests"]), [known]), []);
  assert.deepEqual(said(plan(fromFile(["manifests", "api-server"]), [known])), ["assign default/web"]);
});

test("shareSameApps() makes one object of an app that is wanted as it is known, and leaves others alone", () => {
  const [web, other] = [appWith({ args: ["a"] }), appWith({ cpuPCT: "5" }, { name: "other" })];
  const known = [observed(structuredClone(web)), observed(appWith({ cpuPCT: "6" }, { name: "other" }))];
  const wanted = union([web, other]);
  shareSameApps(wanted, known);
  assert.equal(wanted.apps.get("default/web")?.app, known[0]!.record.app);
  assert.equal(wanted.apps.get("default/other")?.app, other);
});

test("plan() assigns an app that an older agent could not read", () => {
  assert.deepEqual(said(plan(union([appWith()]), [observed(appWith(), { invalid: "spec.new: unknown" })])), [
    "assign default/web",
  ]);
});

test("an app of a source that is no longer followed keeps running, is reported, and may be taken over", () => {
  const known = [observed(appWith({}, { uid: "old" }), { source: "gone" })];
  const nobodyWantsIt = union([], { complete: ["api-server", "manifests", "url", "socket"] });
  assert.deepEqual(plan(nobodyWantsIt, known), []);
  assert.deepEqual(findOrphans(nobodyWantsIt, known), known);
  const wanted = union([appWith()]);
  assert.deepEqual(said(plan(wanted, known)), ["assign default/web"]);
  assert.deepEqual(findOrphans(wanted, known), []);
  const withdrawn = observed(appWith({}, { uid: "old" }), { source: "gone", withdrawn: true });
  assert.deepEqual(findOrphans(nobodyWantsIt, [withdrawn]), []);
});

test("plan() assigns a deleted app even to a full node, so that its end is reported, and passes on who holds it", () => {
  const app = appWith();
  const deleted = { ...app, metadata: { ...app.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.deepEqual(said(plan(union([deleted]), [], { maxApps: 0 })), ["assign default/web"]);
  assert.deepEqual(said(plan(union([deleted]), [observed(app)])), ["assign default/web"]);
  const invalid = "spec.cpuPCT: 200";
  assert.deepEqual(said(plan(union([deleted], { invalid }), [observed(app, { invalid })])), [
    "assign default/web",
  ]);
  assert.deepEqual(said(plan(union([app]), [observed(app, { heldBy: "node-b" })])), ["assign default/web"]);
});
