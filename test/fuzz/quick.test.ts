/** A short pass over every target with a fixed seed, and a replay of all findings. `npm run fuzz` is the long pass. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { skipUnless } from "../harness/parts.ts";
import { makeInput, runCase, type Target } from "./engine.ts";
import { keptFindings } from "./found.ts";
import { targetNamed, targets } from "./targets.ts";

const seed = 20_260;
/** Targets with files and connections, which are slower per case. */
const cases = { usual: 60, slow: 15 };
const slow = new Set([
  ..."cgroup-folder marks script app-files log-tail http-bytes probe-answer".split(" "),
  "watch-stream",
]);

const isMissing = ({ needs }: Target) => needs !== undefined && skipUnless(needs);

for (const target of targets) {
  const { name, covers } = target;
  const title = `${name}: ${covers.join(", ")} hold for ${slow.has(name) ? cases.slow : cases.usual} inputs`;
  test(title, { skip: isMissing(target) }, async () => {
    const session = await target.open();
    try {
      for (let number = 0; number < (slow.has(name) ? cases.slow : cases.usual); number++) {
        const input = makeInput(target, seed, number);
        const problem = await runCase(target, session, input);
        assert.equal(
          problem,
          undefined,
          `case ${number}: ${problem}\n${Buffer.from(input).toString("base64")}`,
        );
      }
    } finally {
      await session.close?.();
    }
  });
}

test("no recorded finding fails again", async (context) => {
  for (const { target: name, problem, seed, number, input } of keptFindings()) {
    await context.test(`${name}, seed ${seed}, case ${number}: ${problem.slice(0, 100)}`, async () => {
      const target = targetNamed(name);
      const session = await target.open();
      try {
        assert.equal(await runCase(target, session, input), undefined);
      } finally {
        await session.close?.();
      }
    });
  }
});

test("every target has a unique name, and accepts or properly refuses its samples", async () => {
  assert.equal(new Set(targets.map(({ name }) => name)).size, targets.length);
  for (const target of targets.filter((target) => !isMissing(target))) {
    const session = await target.open();
    for (const sample of target.samples) {
      assert.equal(
        await runCase(target, session, Buffer.from(sample)),
        undefined,
        `${target.name}: ${sample.slice(0, 100)}`,
      );
    }
    await session.close?.();
  }
});
