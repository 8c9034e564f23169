import assert from "node:assert/strict";
import { test } from "node:test";
import { buildTenancyPolicies } from "../../../src/api/install/install.ts";
import { spec } from "../../../src/api/schema/schema.ts";

/** What an NCAppPolicy restricts; each is in the policies. */
const restricted = [
  ...["shellFile", "stopFile", "livenessProbe", "readinessProbe", "startupProbe", "reloadCommand"],
  ...["runAsUser", "runAsGroup", "cpuPCT", "memPCT", "nodeName", "allowExec"],
];

/** What an app of an allowed user may have as its tenant likes: nothing of it gives more rights than that user has. */
const free = [
  ...["shellFileSHA256", "args", "env", "envFile", "workingDir", "pidsMax", "oomPolicy"],
  ...[
    "restartPolicy",
    "backoffSeconds",
    "maxBackoffSeconds",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
  ],
  ...[
    "stopSignal",
    "stopTarget",
    "reloadSignal",
    "schedule",
    "timeZone",
    "concurrencyPolicy",
    "update",
    "suspend",
  ],
  ...["successfulRunsHistoryLimit", "failedRunsHistoryLimit", "schedulerName", "nodeSelector", "affinity"],
  ...["topologySpreadConstraints", "appAntiAffinity", "tolerations", "priorityClassName", "ports"],
];

test("every field of an app is restricted by NCAppPolicy, or known to be harmless for tenants", () => {
  const unknown = Object.keys(spec.properties).filter((field) => ![...restricted, ...free].includes(field));
  assert.deepEqual(
    unknown,
    [],
    "decide what an NCAppPolicy says about it: src/api/install/tenancy-policy.ts",
  );
  const text = JSON.stringify(buildTenancyPolicies());
  for (const field of restricted.filter((field) => field in spec.properties)) {
    assert.ok(text.includes(field), field);
  }
});
