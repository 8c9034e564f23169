import assert from "node:assert/strict";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { silentLogger } from "../../../src/lib/log.ts";
import { appFolder, type Layout, recordPath } from "../../../src/supervisor/layout.ts";
import {
  createRecordStore,
  decodeRecord,
  encodeRecord,
} from "../../../src/supervisor/records/record-store.ts";
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

test("any flipped bit, truncation or foreign text is detected, in 2,000 random damages", () => {
  const good = new TextEncoder().encode(encodeRecord(recordWith()));
  let seed = 1;
  const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
  for (let round = 0; round < 2000; round++) {
    const damaged = round % 2 ? good.slice(0, random(good.length)) : good.slice();
    if (round % 2 === 0) damaged[random(good.length)]! ^= 1 << random(8);
    assert.throws(() => decodeRecord(new TextDecoder().decode(damaged)), `round ${round}`);
  }
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
