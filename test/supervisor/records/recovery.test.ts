import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../../../src/lib/log.ts";
import { recordPath, runFolder } from "../../../src/supervisor/layout.ts";
import { folderOf } from "../../../src/supervisor/layout.ts";
import {
  createRecordStore,
  readRunRecord,
  recoverRecords,
  saveRunRecord,
} from "../../../src/supervisor/records/records.ts";
import { runsOf } from "../../../src/supervisor/run-ref.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith, recordWith, runOf, start } from "../fixtures.ts";

test("an app with several runs and no record is recovered from the newest, which knows the others", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
  // Whatever the order of a folder listing, for one of the two apps the newest run is not the first.
  const names = { up: ["run-a", "run-b", "run-c"], down: ["run-z", "run-y", "run-x"] };
  for (const [name, ids] of Object.entries(names)) {
    const app = appWith({ concurrencyPolicy: "Allow" }, { name });
    const runs = ids.map((id, index) => runOf(app, { id, createdAt: start + index }));
    for (const [index, run] of runs.entries()) {
      const record = recordWith({ app, phase: "Starting", run, others: runs.slice(0, index) });
      saveRunRecord(runFolder(layout, run.id), record);
    }
  }
  const store = createRecordStore(layout, silentLogger);
  const { records: found } = await recoverRecords({ store, layout, log: silentLogger });
  const known = found.map((record) => [record.app.metadata.name, runsOf(record).map(({ id }) => id)])
    .sort();
  assert.deepEqual(known, [["down", ["run-x", "run-z", "run-y"]], ["up", ["run-c", "run-a", "run-b"]]]);
});

for (const lost of ["state file", "copy with the run"]) {
  test(`the ${lost} of an app is written again from the other copy`, async () => {
    using temp = tempFolder();
    const folder = temp.path;
    const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
    const app = appWith();
    const record = recordWith({ app, phase: "Running", run: runOf(app, { id: "run-a" }) });
    const store = createRecordStore(layout, silentLogger);
    await store.save(record);
    saveRunRecord(runFolder(layout, "run-a"), record);
    const path = lost === "state file"
      ? recordPath(layout, folderOf(app))
      : runFolder(layout, "run-a/record.json");
    await writeFile(path, "nonsense");
    const { records, holds } = await recoverRecords({ store, layout, log: silentLogger });
    assert.deepEqual([records, holds.size], [[record], 0]);
    assert.deepEqual(await store.load(), [record]);
    assert.deepEqual(await readRunRecord(runFolder(layout, "run-a")), { record });
  });
}
