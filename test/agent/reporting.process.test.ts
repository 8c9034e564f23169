import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { observeStarts } from "../../src/agent/reporting.ts";
import { createHistogram } from "../../src/lib/metrics.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import { createTestNode } from "../supervisor/test-node.ts";
import { waitFor } from "../wait-for.ts";

test("a start is measured once, from the decision until the script runs; it includes a download, and a new agent does not repeat it", async () => {
  const downloadMs = 100;
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), {
    fetchScript: async () => {
      await waitFor("the download took its time", () => {
        const { createdAt = Infinity } = node.record("web").run ?? {};
        return Date.now() - createdAt > downloadMs;
      });
      return join(node.folder, "web.sh");
    },
  });
  await node.script("web.sh", "#!/bin/bash\necho $EPOCHREALTIME\nexec sleep 60\n");
  const starts = createHistogram([1000]);
  const watch = () => observeStarts(node.supervisor, starts, Date.now() - 1);
  watch();
  await node.assign("web", { shellFile: "https://example.com/web.sh" });
  const { run } = await node.reach("web", "Running");
  const { sum, count } = starts.snapshot();
  assert.equal(count, 1);
  assert.equal(sum, (run!.startedAt! - run!.createdAt) / 1000);
  // File times are those of the kernel's last tick, up to 10 ms ago.
  assert.ok(sum * 1000 >= downloadMs - 10, `${sum} s`);
  const firstInstructionMs = Number(await node.logHas("web", "\n")) * 1000;
  assert.ok(run!.startedAt! <= firstInstructionMs + 1, "it is not reported before it has happened");

  await node.restartAgent();
  watch();
  await node.assign("web", { shellFile: "https://example.com/web.sh", pidsMax: 100 });
  await node.reach("web", "Running", ({ app }) => app.spec.pidsMax === 100);
  assert.equal(starts.snapshot().count, 1);
});
