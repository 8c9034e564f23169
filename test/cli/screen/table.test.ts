import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp } from "../../../src/api/types.ts";
import { appTable, formatAge, formatTable } from "../../../src/cli/screen/screen.ts";
import { ncapp } from "../../builders.ts";

test("formatTable() aligns columns without trailing spaces", () => {
  assert.deepEqual(formatTable([["A", "LONG"], ["value", "x"], ["ü", ""]]), [
    "A       LONG",
    "value   x",
    "ü",
  ]);
});

test("formatAge() formats like kubectl", () => {
  const seconds = [5, 119, 120, 125, 600, 7200, 11_100, 60_000, 200_000];
  assert.deepEqual(seconds.map((age) => formatAge(age * 1000)), [
    "5s",
    "119s",
    "2m",
    "2m5s",
    "10m",
    "120m",
    "3h5m",
    "16h",
    "2d",
  ]);
});

const app = (name: string, fields: Partial<NCApp>): NCApp => ({
  ...ncapp({ metadata: { name } }),
  ...fields,
});

test("appTable() shows usage against the cap, and why an app does not run", () => {
  const [header, ...rows] = appTable([
    app("web", {
      spec: { cpuPCT: "20%" },
      status: {
        phase: "Running",
        ready: true,
        cpuPCT: "12.5",
        memPCT: "1.0",
        restarts: 2,
        pid: 7,
        startTime: "2026-01-01T00:00:00Z",
      },
    }),
    app("bad", { status: { phase: "Pending", reason: "ScriptNotFound", message: "no such file" } }),
  ], { now: Date.parse("2026-01-01T00:01:00Z") });
  assert.match(header ?? "", /^NAMESPACE +NAME +PHASE +READY +CPU +MEM +RESTARTS +PID +AGE +MESSAGE$/);
  assert.match(rows[0] ?? "", /^default +web +Running +True +12\.5\/20% +1\.0% +2 +7 +60s$/);
  assert.match(rows[1] ?? "", /^default +bad +Pending +False +- +- +0 +- +- +no such file$/);
});

test("appTable() shows the sets of apps, if there are any", () => {
  const owner = { apiVersion: "app.example.com/v1alpha1", kind: "NCAppSet", name: "web", uid: "1" };
  const owned = ncapp({ metadata: { name: "web-a", ownerReferences: [owner] } as NCApp["metadata"] });
  const table = (apps: NCApp[]) => appTable(apps, { now: 0, scope: "cluster" });
  const [header, ...rows] = table([owned, app("lone", {})]);
  assert.match(header ?? "", /^NAMESPACE +NAME +SET +NODE/);
  assert.match(rows[0] ?? "", /^default +web-a +web +/);
  assert.match(rows[1] ?? "", /^default +lone +- +/);
  assert.match(table([app("lone", {})])[0] ?? "", /^NAMESPACE +NAME +NODE/);
});

test("appTable() hides the password and query of a script's URL", () => {
  const signed = app("web", { spec: { shellFile: "https://me:pw@example.com/web.sh?signature=abc" } });
  const [, row] = appTable([signed], { now: 0, wide: true });
  assert.match(row ?? "", / https:\/\/\*\*\*@example\.com\/web\.sh\?\*\*\*$/);
});
