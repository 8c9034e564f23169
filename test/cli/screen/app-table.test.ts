import assert from "node:assert/strict";
import { test } from "node:test";
import { appTable } from "../../../src/cli/screen/screen.ts";
import { ncapp } from "../../builders.ts";

const failed = (namespace: string) =>
  ncapp({
    metadata: { name: "web", namespace },
    status: {
      phase: "BackOff",
      message: "Ended with status 3: Error; restarting at 1970-01-01T00:00:20Z",
      restarts: 2,
    },
  });
const headerAt = (width: number, ...apps: ReturnType<typeof failed>[]) =>
  appTable(apps, { now: 0, width })[0]!.split(/ +/);

test("a narrow table leaves out columns, so that messages are legible, and cuts these", () => {
  const all = ["NAMESPACE", "NAME", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "PID", "AGE", "MESSAGE"];
  const without = (...titles: string[]) => all.filter((title) => !titles.includes(title));
  assert.deepEqual(headerAt(0, failed("default")), all);
  assert.deepEqual(headerAt(200, failed("default")), all);
  assert.deepEqual(headerAt(84, failed("default")), without("NAMESPACE"));
  assert.deepEqual(headerAt(80, failed("default")), without("NAMESPACE", "PID"));
  assert.deepEqual(headerAt(70, failed("default")), without("NAMESPACE", "PID", "AGE"));
  assert.deepEqual(headerAt(80, failed("default"), failed("shop")), without("PID", "AGE"));
  const [, row = ""] = appTable([failed("default")], { now: 0, width: 80 });
  assert.match(row, /Ended with status 3: Er.*…$/);
  assert.equal([...row].length, 80);
});

test("a message counts down to the next try", () => {
  const messageAt = (now: number) => appTable([failed("default")], { now })[1]!.split("; ")[1];
  assert.deepEqual([0, 19_001, 20_001].map(messageAt), [
    "restarting in 20 s",
    "restarting in 1 s",
    "restarting at 1970-01-01T00:00:20Z",
  ]);
});

test("a narrow table without messages has all columns", () => {
  const running = ncapp({ metadata: { name: "web" }, status: { phase: "Running", reason: "Running" } });
  assert.ok(appTable([running], { now: 0, width: 80 })[0]!.startsWith("NAMESPACE   NAME"));
});
