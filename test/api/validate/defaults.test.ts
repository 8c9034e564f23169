import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "../../../src/api/validate/validate.ts";
import type { DefaultedProbe, NCAppSpec } from "../../../src/api/types.ts";

test("applyDefaults() fills in the documented defaults", () => {
  assert.deepEqual(applyDefaults({}), {
    pidsMax: 4096,
    oomPolicy: "Group",
    restartPolicy: "Always",
    backoffSeconds: 10,
    maxBackoffSeconds: 300,
    terminationGracePeriodSeconds: 30,
    stopSignal: "SIGTERM",
    stopTarget: "All",
    concurrencyPolicy: "Forbid",
    suspend: false,
    allowExec: false,
    schedulerName: "nc-scheduler",
  });
});

test("applyDefaults() gives probes, ports and tolerations the defaults of a Pod", () => {
  const spec = applyDefaults({
    readinessProbe: { httpGet: { port: 80 } },
    ports: [{ port: 80 }],
    tolerations: [{ key: "a" }],
  });
  const probe: DefaultedProbe = spec.readinessProbe!;
  assert.deepEqual(probe, {
    httpGet: { port: 80, path: "/", scheme: "HTTP" },
    initialDelaySeconds: 0,
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  });
  assert.deepEqual(spec.ports, [{ port: 80, protocol: "TCP" }]);
  assert.deepEqual(spec.tolerations, [{ key: "a", operator: "Equal" }]);
});

test("applyDefaults() keeps given values, drops nulls and does not change its argument", () => {
  const given = { suspend: true, pidsMax: 7, cpuPCT: "", nodeSelector: { a: "b" }, restartPolicy: null };
  const before = structuredClone(given);
  const spec = applyDefaults(given as unknown as NCAppSpec);
  assert.deepEqual(given, before);
  assert.equal(spec.suspend, true);
  assert.equal(spec.pidsMax, 7);
  assert.equal(spec.cpuPCT, "");
  assert.equal(spec.restartPolicy, "Always");
  assert.deepEqual(applyDefaults(spec), spec);
});
