import assert from "node:assert/strict";
import { test } from "node:test";
import { createMarkerConfinement } from "../../src/supervisor/marker-confinement.ts";
import { supervisorContract } from "./contract.ts";
import { createTestNode } from "./test-node.ts";

supervisorContract(async () => createMarkerConfinement("this test uses markers"));

test("under strict enforcement an app with a cap that cannot be held is not started, and says why; one without a cap is", async () => {
  const why = "cgroup v1 holds controllers cpu, memory";
  await using node = await createTestNode(createMarkerConfinement(why), { enforce: "strict" });
  const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 60\n");
  await node.assign("capped", { shellFile, cpuPCT: 20 });
  await node.assign("free", { shellFile });
  const { reason, message } = await node.reach("capped", "Pending", ({ reason }) => reason !== "");
  assert.deepEqual([reason, message], [
    "LimitsUnavailable",
    `cpuPCT 20 cannot be enforced: ${why}; an agent with --enforce best-effort starts it without`,
  ]);
  await node.reach("free", "Running");
  await node.liveRuns(1);
});
