import assert from "node:assert/strict";
import { test } from "node:test";
import { applyLimits, quotaProblem, quotaStatusPatch } from "../../../src/scheduler/namespaces/namespaces.ts";
import { readLimitRange } from "../../../src/scheduler/namespaces/limit-range.ts";
import { readQuota } from "../../../src/scheduler/namespaces/quota.ts";
import { app } from "../sample-cluster.ts";
import { limitRange, quota } from "../objects.ts";

const rules = (...items: Parameters<typeof limitRange>[1][]) =>
  items.flatMap((item, at) => readLimitRange(limitRange(`rule-${at}`, item)));

test("a LimitRange sets the cap of an app without one, and how to write it into the spec", () => {
  const limited = applyLimits(
    app("web", { memPCT: 30 }),
    rules({ default: { cpuPCT: "12500m", memPCT: "5" } }),
  );
  assert.ok("app" in limited);
  assert.deepEqual([limited.app.cpu, limited.app.mem, limited.defaults], [12_500, 30_000, {
    cpuPCT: "12.5",
  }]);
});

test("caps under the minimum, over the maximum, or missing under a maximum are refused", () => {
  const bounds = rules({ min: { cpuPCT: "5" }, max: { cpuPCT: "50" } });
  const refusal = (cpuPCT?: number) => {
    const limited = applyLimits(app("web", { cpuPCT }), bounds);
    return "refusal" in limited ? limited.refusal : undefined;
  };
  assert.equal(refusal(2), "limit range rule-0: the minimum cpuPCT per NCApp is 5, but it requests 2");
  assert.equal(refusal(60), "limit range rule-0: the maximum cpuPCT per NCApp is 50, but it requests 60");
  assert.equal(refusal(), "limit range rule-0: the maximum cpuPCT per NCApp is 50, but it has no cap");
  assert.deepEqual([refusal(5), refusal(50)], [undefined, undefined]);
});

test("a default must be within the bounds too, and the first of several defaults wins", () => {
  const limited = applyLimits(
    app("web"),
    rules({ default: { cpuPCT: "20" } }, { default: { cpuPCT: "30" }, max: { cpuPCT: "10" } }),
  );
  assert.ok("refusal" in limited && limited.refusal.includes("it requests 20"));
});

test("a LimitRange for Pods does not apply to NCApps", () => {
  const foreign = limitRange("pods", { max: { cpuPCT: "1" } }, "Container");
  assert.deepEqual(readLimitRange(foreign), []);
});

test("a quota limits the sum of bound points, with the messages of Kubernetes", () => {
  const team = readQuota(quota("team", { cpuPCT: "100", memPCT: "50" }))!;
  const problem = (cpuPCT: number, memPCT: number) =>
    quotaProblem(app("web", { cpuPCT, memPCT }), [team], { cpu: 70_000, mem: 45_000 });
  assert.equal(problem(30, 5), undefined);
  assert.equal(
    problem(40, 5),
    "exceeded quota: team, requested: cpuPCT=40, used: cpuPCT=70, limited: cpuPCT=100",
  );
  assert.equal(
    problem(40, 10),
    "exceeded quota: team, requested: cpuPCT=40,memPCT=10, used: cpuPCT=70,memPCT=45, limited: cpuPCT=100,memPCT=50",
  );
});

test("an app without a cap is refused by a quota on that share", () => {
  const team = readQuota(quota("team", { cpuPCT: "100" }))!;
  assert.equal(
    quotaProblem(app("web"), [team], { cpu: 0, mem: 0 }),
    "failed quota: team: must specify cpuPCT",
  );
  assert.equal(quotaProblem(app("web", { cpuPCT: 1 }), [team], { cpu: 0, mem: 0 }), undefined);
});

test("quotas for other resources, or with scopes, which select Pods, are ignored", () => {
  assert.equal(readQuota(quota("pods", {})), undefined);
  const scoped = quota("scoped", { cpuPCT: "1" });
  scoped.spec!.scopes = ["BestEffort"];
  assert.equal(readQuota(scoped), undefined);
});

test("a quota's status is patched only if it is wrong", () => {
  const key = "app.example.com/cpuPCT";
  const fresh = readQuota(quota("team", { cpuPCT: "100" }))!;
  const patch = quotaStatusPatch(fresh, { cpu: 12_500, mem: 99_000 });
  // The API server takes whole numbers only.
  assert.deepEqual(patch, { hard: { [key]: "100" }, used: { [key]: "13" } });
  const told = readQuota(
    quota("team", { cpuPCT: "100" }, { hard: { [key]: "100" }, used: { [key]: "13" } }),
  )!;
  assert.equal(quotaStatusPatch(told, { cpu: 12_500, mem: 0 }), undefined);
  assert.notEqual(quotaStatusPatch(told, { cpu: 13_001, mem: 0 }), undefined);
});

test("a limit under its earlier name counts, but its used, which Kubernetes writes, is left alone", () => {
  const old = quota("team", {});
  old.spec!.hard = { "requests.app.example.com/cpuPCT": "12.5", "app.example.com/memPCT": "50" };
  const team = readQuota(old)!;
  assert.deepEqual(team.hard, { cpu: 12_500, mem: 50_000 });
  assert.deepEqual(team.oldKeys, ["requests.app.example.com/cpuPCT"]);
  const key = "app.example.com/memPCT";
  assert.deepEqual(quotaStatusPatch(team, { cpu: 1, mem: 1 }), {
    hard: { [key]: "50" },
    used: { [key]: "1" },
  });
  old.spec!.hard["app.example.com/cpuPCT"] = "20";
  assert.deepEqual([readQuota(old)!.hard.cpu, readQuota(old)!.oldKeys], [20_000, []], "the new name wins");
});
