import assert from "node:assert/strict";
import { test } from "node:test";
import { describePortConflict, findPortConflicts } from "../../src/sync/port-conflicts.ts";
import { appWith } from "../supervisor/fixtures.ts";

const ports = (...numbers: number[]) => ({ ports: numbers.map((port) => ({ port })) });

test("a host port that two apps want is found, once per port, and by protocol", () => {
  const conflicts = findPortConflicts([
    ["default/a", appWith(ports(80, 443))],
    ["default/b", appWith(ports(80))],
    ["default/c", appWith({ ports: [{ port: 443, protocol: "UDP" }] })],
    ["default/d", appWith({ ...ports(443), suspend: true })],
    ["default/e", appWith(ports(443), { deletionTimestamp: "2026-01-01T00:00:00Z" })],
  ]);
  assert.deepEqual(conflicts, [{ port: "80/TCP", keys: ["default/a", "default/b"] }]);
  assert.match(describePortConflict(conflicts[0]!), /^port 80\/TCP is wanted by default\/a and default\/b/);
});
