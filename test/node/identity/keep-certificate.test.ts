import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import {
  createCertificateKeeper,
  type KeeperOptions,
  renewalTime,
} from "../../../src/node/identity/keep-certificate.ts";
import { runs } from "../../properties.ts";
import { createTestLog } from "../../report/test-log.ts";
import { waitFor } from "../../wait-for.ts";
import { certificateFrom } from "./signing.ts";

const dayMs = 86_400_000;
const start = Date.parse("2026-11-18T12:00:00Z");

/** A keeper whose clocks the test moves; it issues a certificate for a year, unless `fail` says why not. */
function createWorld(t: TestContext, options: Partial<KeeperOptions> = {}) {
  const world = { wall: start, steady: 0, requests: 0, fail: "", saved: 0, full: false };
  const log = createTestLog();
  const keeper = createCertificateKeeper({
    what: "client certificate",
    load: async () => certificateFrom(start),
    async save() {
      if (world.full) throw new Error("cannot write client.crt: the disk is full");
      world.saved++;
    },
    async request() {
      world.requests++;
      if (world.fail) throw new Error(world.fail);
      const { cert, key } = certificateFrom(world.wall);
      return { issued: cert, key };
    },
    log,
    now: () => world.wall,
    steady: () => world.steady,
    random: () => 0.5,
    ...options,
  });
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  return { world, keeper, log, run: () => void keeper.run(stopping.signal) };
}

test("a certificate is renewed between 70% and 90% of the life that is left when it is issued", () => {
  const { cert } = certificateFrom(start);
  const [from, until] = [start - 60_000, start + 365 * dayMs];
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(300 * dayMs), (part, age) => {
      const at = renewalTime(cert, start + age, part);
      const life = until - start - age;
      assert.ok(at >= start + age + 0.7 * life - 1 && at <= start + age + 0.9 * life + 1);
    }),
    runs(200),
  );
  assert.equal(renewalTime(cert, -Infinity, 0), from + 0.7 * (until - from));
  assert.ok(renewalTime(cert, until + dayMs, 1) <= until, "a clock that is far ahead renews at once");
});

test("nothing is requested while the certificate is good, and a clock set forward renews it", async (t) => {
  const { world, keeper, run } = createWorld(t);
  await keeper.load();
  const before = keeper.current();
  run();
  world.wall += 100 * dayMs;
  await waitFor("a look", () => true);
  assert.equal(world.requests, 0);
  world.wall += 200 * dayMs;
  keeper.reject();
  await waitFor("a renewal", () => keeper.current() !== before);
  assert.equal(world.saved, 1);
});

test("a clock that was set back by a year delays no renewal", async (t) => {
  const { world, keeper, run } = createWorld(t);
  await keeper.load();
  world.wall -= 365 * dayMs;
  world.steady += 330 * dayMs;
  run();
  await waitFor("a renewal", () => world.requests === 1);
});

test("whatever fails, the last certificate stays in use, and the reason is logged once", async (t) => {
  const { world, keeper, log, run } = createWorld(t);
  await keeper.load();
  const before = keeper.current();
  world.fail = "no signer answers";
  world.wall += 400 * dayMs;
  run();
  await waitFor("two attempts", () => world.requests >= 2);
  assert.equal(keeper.current(), before);
  assert.equal(keeper.problem(), "no signer answers");
  assert.deepEqual(log.lines, ["warn no new client certificate yet"]);
  assert.match(log.text(), /"expired":"2027-11-18/);
  world.fail = "";
  await waitFor("a renewal", () => keeper.current() !== before);
  assert.equal(keeper.problem(), undefined);
});

test("a certificate that a full disk does not take is used from memory, and saved when there is space", async (t) => {
  const { world, keeper, log, run } = createWorld(t, { load: async () => undefined });
  world.full = true;
  await keeper.load();
  run();
  await waitFor("a certificate", () => keeper.current());
  await waitFor("the attempt to save it", () => log.text().includes("cannot save the client certificate"));
  world.full = false;
  await waitFor("it is saved", () => world.saved === 1, 30_000);
  assert.equal(world.requests, 1);
});

test("a clock that is a year ahead asks for certificates no faster than a failure does", async (t) => {
  const { world, log, run } = createWorld(t, {
    load: async () => undefined,
    async request() {
      world.requests++;
      const { cert, key } = certificateFrom(start);
      return { issued: cert, key };
    },
  });
  world.wall += 400 * dayMs;
  run();
  await waitFor("the reason", () => log.text().includes("the clock here shows 2027-12-23"));
  assert.equal(world.requests, 1);
});

test("nothing is requested before that is possible, and at once when it is", async (t) => {
  let isPossible = false;
  const { world, keeper, log, run } = createWorld(t, {
    load: async () => undefined,
    isPossible: () => isPossible,
  });
  run();
  await waitFor("a look", () => true);
  assert.deepEqual([world.requests, log.lines], [0, []]);
  isPossible = true;
  keeper.look();
  await waitFor("a certificate", () => keeper.current());
});
