import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openLastValues } from "../../../src/supervisor/run/last-values.ts";
import { StartError, UnansweredError } from "../../../src/supervisor/types.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith } from "../fixtures.ts";

const secret = (name: string, key: string) => ({ name: "VALUE", valueFrom: { secretKeyRef: { name, key } } });
const silent = () => Promise.reject(new UnansweredError("ValueUnavailable", "timeout"));
const rejecting = () => Promise.reject(new StartError("ValueUnavailable", "403"));

test("values of the last start are used while the server does not answer, and only then", async () => {
  using temp = tempFolder();
  const path = join(temp.path, ".values-default_app");
  const app = appWith({ shellFile: "/x", env: [secret("db", "password"), secret("db", "optional")] });
  let reused = 0;
  const open = (resolve: () => Promise<string | undefined>, { bootId = "boot-1", uid = "uid-1" } = {}) =>
    openLastValues({ ...app, metadata: { ...app.metadata, uid } }, {
      path,
      bootId,
      resolve,
      onReuse: () => reused++,
    });
  const [password, optional] = app.spec.env!;

  const fresh = ["sesame", undefined];
  const first = await open(() => Promise.resolve(fresh.shift()));
  assert.equal(await first.resolve(app, password!), "sesame");
  assert.equal(await first.resolve(app, optional!), undefined);
  await first.save();
  assert.equal(statSync(path).mode & 0o777, 0o600);

  const second = await open(silent);
  assert.equal(await second.resolve(app, password!), "sesame");
  assert.equal(await second.resolve(app, optional!), undefined);
  assert.equal(reused, 2);
  await second.save();
  const third = await open(silent);
  assert.equal(await third.resolve(app, password!), "sesame", "a start without the server keeps the values");
  await assert.rejects(third.resolve(app, secret("db", "other")), UnansweredError);
  await assert.rejects(third.resolve(app, secret("db", "constructor")), UnansweredError);

  await assert.rejects((await open(rejecting)).resolve(app, password!), /403/);
  await assert.rejects((await open(silent, { bootId: "boot-2" })).resolve(app, password!), UnansweredError);
  await assert.rejects((await open(silent, { uid: "uid-2" })).resolve(app, password!), UnansweredError);
});

test("an app without Secrets and ConfigMaps writes nothing", async () => {
  using temp = tempFolder();
  const path = join(temp.path, "values");
  const app = appWith({ shellFile: "/x", env: [{ name: "A", value: "b" }] });
  const options = { path, bootId: "boot", resolve: silent, onReuse: () => assert.fail() };
  await (await openLastValues(app, options)).save();
  assert.equal(statSync(path, { throwIfNoEntry: false }), undefined);
});
