import assert from "node:assert/strict";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { test } from "node:test";
import fc from "fast-check";
import { silentLogger } from "../../../src/lib/log.ts";
import { appFolder, type Layout, recordPath } from "../../../src/supervisor/layout.ts";
import { createRecordStore, decodeRecord, encodeRecord } from "../../../src/supervisor/records/records.ts";
import { runs } from "../../properties.ts";
import { tempFolder } from "../../temp-folder.ts";
import { recordWith } from "../fixtures.ts";

async function storeIn() {
  const temp = tempFolder();
  const stateDir = temp.path;
  const layout: Layout = { stateDir, logDir: stateDir };
  const store = createRecordStore(layout, silentLogger, () => 5);
  return { layout, store, [Symbol.dispose]: temp.remove };
}

test("a record is loaded as it was saved", async () => {
  await using place = await storeIn();
  const record = recordWith({ restarts: 3, lastExit: { code: 1, reason: "Error", message: "line\nline ü" } });
  await place.store.save(record);
  assert.deepEqual(await place.store.load(), [record]);
  await place.store.remove(record);
  assert.deepEqual(await place.store.load(), []);
});

test("every truncation, every flipped bit and any other bytes are detected", () => {
  const good = new TextEncoder().encode(encodeRecord(recordWith()));
  const isDetected = (bytes: Uint8Array, what: string) =>
    assert.throws(() => decodeRecord(new TextDecoder().decode(bytes)), what);
  for (let at = 0; at < good.length; at++) {
    isDetected(good.subarray(0, at), `${at} bytes`);
    for (let bit = 0; bit < 8; bit++) {
      isDetected(good.with(at, good[at]! ^ (1 << bit)), `byte ${at}, bit ${bit}`);
    }
  }
  fc.assert(fc.property(fc.uint8Array(), (bytes) => isDetected(bytes, "other bytes")), runs(100));
});

test("a damaged file is set aside under another name, and the others are loaded", async () => {
  await using place = await storeIn();
  await place.store.save(recordWith());
  await place.store.save(
    recordWith({ app: { ...recordWith().app, metadata: { name: "other", namespace: "default" } } }),
  );
  await writeFile(recordPath(place.layout, "default_other"), "torn");
  assert.deepEqual((await place.store.load()).map(({ app }) => app.metadata.name), ["web"]);
  assert.deepEqual(await readdir(appFolder(place.layout, "default_other")), ["record.json.bad-5"]);
});

test("a record of a later version stays in place", async () => {
  await using place = await storeIn();
  await place.store.save(recordWith());
  const path = recordPath(place.layout, "default_web");
  const later = encodeRecord(recordWith()).replace("record 1 ", "record 2 ");
  await writeFile(path, later);
  assert.deepEqual(await place.store.load(), []);
  assert.equal(await readFile(path, "utf8"), later);
});

test("a record in the folder of another app is set aside, and so is a symbolic link", async () => {
  await using place = await storeIn();
  await place.store.save(recordWith());
  const stolen = { ...recordWith().app, metadata: { name: "thief", namespace: "default" } };
  await place.store.save(recordWith({ app: stolen }));
  await writeFile(recordPath(place.layout, "default_thief"), encodeRecord(recordWith()));
  await place.store.save(
    recordWith({ app: { ...stolen, metadata: { name: "linked", namespace: "default" } } }),
  );
  await rm(recordPath(place.layout, "default_linked"));
  await symlink(recordPath(place.layout, "default_web"), recordPath(place.layout, "default_linked"));
  assert.deepEqual((await place.store.load()).map(({ app }) => app.metadata.name), ["web"]);
});
