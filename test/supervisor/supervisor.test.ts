import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caps, CapsState, Confinement } from "../../src/supervisor/confinement.ts";
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

test("under strict enforcement a cap is judged by itself: one that is held starts its app, whatever else the node lacks", async () => {
  const why = "controller memory is switched off";
  const markers = createMarkerConfinement(why);
  const judge = async (caps: Caps): Promise<CapsState> =>
    caps.memPCT === undefined
      ? { enforced: true }
      : { enforced: false, reason: "LimitsUnavailable", message: `cannot set memory.max 4096: ${why}` };
  const confinement: Confinement = {
    ...markers,
    prepare: async (_, caps) => ({ keeper: "", leaf: "", caps: await judge(caps) }),
    ensureCaps: (_, caps) => judge(caps),
  };
  await using node = await createTestNode(confinement, { enforce: "strict" });
  const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 60\n");
  await node.assign("cpu", { shellFile, cpuPCT: 20 });
  await node.assign("memory", { shellFile, memPCT: 10 });
  await node.reach("cpu", "Running");
  const { reason, message } = await node.reach("memory", "Pending", ({ reason }) => reason !== "");
  assert.equal(reason, "LimitsUnavailable");
  assert.match(
    message ?? "",
    /^memPCT 10 cannot be enforced: cannot set memory\.max 4096: controller memory/,
  );
  await node.liveRuns(1);
});
