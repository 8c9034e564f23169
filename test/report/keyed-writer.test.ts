import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KubeError } from "../../src/kube/kube-error.ts";
import { createKeyedWriter, type WriteResult } from "../../src/report/keyed-writer.ts";
import { runs } from "../properties.ts";
import { FakeClock, settled } from "./fake-clock.ts";
import { createTestLog } from "./test-log.ts";

/** Keys with a state each, and a server that stores what `respond` lets pass. */
const setUp = ({ maxInFlight = 4, respond = () => Promise.resolve() }: {
  maxInFlight?: number;
  respond?: (key: string) => Promise<WriteResult>;
} = {}) => {
  const clock = new FakeClock();
  const log = createTestLog();
  const wanted = new Map<string, number>();
  const stored = new Map<string, number>();
  const dueAt = new Map<string, number>();
  const routine = new Set<string>();
  const written: string[] = [];
  const inFlight = new Map<string, number>();
  let mostPerKey = 0;
  let mostForAll = 0;
  const server = { respond };
  const writer = createKeyedWriter<string>({
    what: "tests",
    log,
    maxInFlight,
    clock,
    random: () => 0,
    due: (key) =>
      wanted.get(key) === stored.get(key)
        ? undefined
        : { at: dueAt.get(key) ?? 0, urgent: !routine.has(key) },
    async write(key) {
      const state = wanted.get(key)!;
      written.push(key);
      inFlight.set(key, (inFlight.get(key) ?? 0) + 1);
      mostPerKey = Math.max(mostPerKey, inFlight.get(key)!);
      mostForAll = Math.max(mostForAll, [...inFlight.values()].reduce((sum, count) => sum + count, 0));
      try {
        const result = await server.respond(key);
        if (result !== "skipped") stored.set(key, state);
        return result;
      } finally {
        inFlight.set(key, inFlight.get(key)! - 1);
      }
    },
  });
  const set = (key: string, state: number) => {
    wanted.set(key, state);
    writer.schedule(key);
  };
  const most = () => ({ mostPerKey, mostForAll });
  return { clock, log, writer, wanted, stored, dueAt, routine, written, server, set, most };
};

const request = { method: "PATCH", url: "https://server/key" };
const noAnswer = () =>
  Promise.reject(new KubeError("connection refused", { ...request, reason: "Unreachable" }));
const refuse = (status = 422) =>
  Promise.reject(new KubeError("no", { ...request, status, reason: "Invalid" }));

test("a key that needs nothing is not written", async () => {
  const { writer, wanted, stored, written } = setUp();
  wanted.set("a", 1);
  stored.set("a", 1);
  writer.schedule("a");
  await settled();
  assert.deepEqual(written, []);
});

test("one write per key is in flight; a change meanwhile is written after it, states in between are skipped", async () => {
  const first = Promise.withResolvers<void>();
  const { set, written, stored, server } = setUp({ respond: () => first.promise });
  for (const state of [1, 2, 3]) set("a", state);
  await settled();
  assert.deepEqual(written, ["a"]);
  server.respond = () => Promise.resolve();
  first.resolve();
  await settled();
  assert.deepEqual(written, ["a", "a"]);
  assert.equal(stored.get("a"), 3);
});

test("urgent keys go first, and never more than `maxInFlight` writes at a time", async () => {
  const { set, routine, written, most } = setUp({ maxInFlight: 2 });
  routine.add("usage1").add("usage2");
  for (const key of ["x", "y", "usage1", "usage2", "phase1", "phase2"]) set(key, 1);
  await settled();
  assert.deepEqual(written, ["x", "y", "phase1", "phase2", "usage1", "usage2"]);
  assert.equal(most().mostForAll, 2);
});

test("a key that is set again keeps its place, and one that became urgent moves", async () => {
  const answer = Promise.withResolvers<void>();
  const { set, routine, written } = setUp({ maxInFlight: 1, respond: () => answer.promise });
  for (const key of ["a", "b", "c"]) routine.add(key);
  for (const key of ["x", "a", "b", "c", "a"]) set(key, 1);
  routine.delete("c");
  set("c", 2);
  answer.resolve();
  await settled();
  assert.deepEqual(written, ["x", "c", "a", "b"]);
});

test("keys that are due later wait for their time, with one timer for all", async () => {
  const { clock, set, dueAt, routine, written } = setUp({ maxInFlight: 1 });
  routine.add("usage");
  for (const [key, ms] of [["usage", 5000], ["phase", 5000], ["last", 9000]] as const) {
    dueAt.set(key, clock.now() + ms);
    set(key, 1);
  }
  assert.equal(clock.timers, 1);
  await clock.advance(4999);
  assert.deepEqual(written, []);
  await clock.advance(1);
  assert.deepEqual(written, ["phase", "usage"]);
  await clock.advance(4000);
  assert.equal(written.at(-1), "last");
});

test("a key that fails is retried after waits that grow, and holds up no other key", async () => {
  const { clock, set, written, server } = setUp({
    respond: (key) => key === "a" ? refuse() : Promise.resolve(),
  });
  set("a", 1);
  await settled();
  const times: number[] = [];
  for (let second = 1; second <= 8; second++) {
    const before = written.length;
    await clock.advance(1000);
    if (written.length > before) times.push(second);
  }
  assert.deepEqual(times, [1, 3, 7]);
  set("b", 1);
  await settled();
  assert.equal(written.at(-1), "b");
  server.respond = () => Promise.resolve();
  await clock.advance(60_000);
  written.length = 0;
  server.respond = () => refuse();
  set("a", 2);
  await clock.advance(1000);
  assert.deepEqual(written, ["a", "a"], "the first wait is short again after a success");
});

test("a change of a key that failed does not cut its wait short", async () => {
  const { clock, set, written } = setUp({ respond: () => refuse() });
  set("a", 1);
  await settled();
  set("a", 2);
  await clock.advance(999);
  assert.deepEqual(written, ["a"]);
});

test("a failed key that needs no write any more is given up, and starts afresh later", async () => {
  const { clock, set, wanted, stored, written, server } = setUp();
  server.respond = (key) => {
    stored.set(key, wanted.get(key)!);
    return refuse();
  };
  set("a", 1);
  await clock.advance(60_000);
  assert.deepEqual(written, ["a"]);
  set("a", 2);
  await settled();
  assert.deepEqual(written, ["a", "a"]);
});

test("when several keys fail, one write at a time goes out for all until one succeeds", async () => {
  const { clock, set, written, server, log, stored } = setUp({ respond: noAnswer });
  for (let number = 0; number < 100; number++) set(`key${number}`, 1);
  await settled();
  assert.ok(written.length <= 6, `${written.length} writes before it slows down`);
  await clock.advance(60_000);
  assert.ok(written.length < 15, `${written.length} writes within a minute`);
  server.respond = () => Promise.resolve();
  await clock.advance(30_000);
  assert.equal(stored.size, 100);
  assert.deepEqual(log.lines.filter((line) => !line.includes("for one app")), [
    "warn tests fail; slowing down",
    "info tests succeed again",
  ]);
});

test("what fails for several keys is tried after waits that grow, which a success resets and an answer to others ends", async () => {
  const { clock, set, written, writer, server } = setUp({ respond: noAnswer });
  const pauses = async (seconds: number) => {
    const found: number[] = [];
    for (let second = 1, last = 0; second <= seconds; second++) {
      const before = written.length;
      await clock.advance(1000);
      if (written.length > before) found.push(second - last), last = second;
    }
    return found;
  };
  for (const key of ["a", "b", "c"]) set(key, 1);
  await settled();
  assert.deepEqual(await pauses(80), [1, 2, 4, 8, 16, 20, 20]);
  writer.serverAnswered();
  await settled();
  const asked = written.length;
  writer.serverAnswered();
  await clock.advance(999);
  assert.equal(written.length, asked, "not within a second");
  server.respond = () => Promise.resolve();
  await clock.advance(60_000);
  server.respond = noAnswer;
  for (const key of ["a", "b", "c"]) set(key, 2);
  await settled();
  assert.deepEqual(await pauses(3), [1, 2]);
  server.respond = () => Promise.resolve();
  await clock.advance(60_000);
  server.respond = noAnswer;
  for (const key of ["a", "b"]) set(key, 3);
  await settled();
  server.respond = () => Promise.resolve();
  set("c", 3);
  await settled();
  server.respond = noAnswer;
  const count = written.length;
  for (const key of ["d", "e"]) set(key, 1);
  await settled();
  assert.equal(written.length, count + 2, "failures count only while nothing succeeds");
});

test("serverAnswered() retries the keys that got no answer, not those that were refused", async () => {
  const { clock, set, written, writer } = setUp({
    respond: (key) => key === "refused" ? refuse() : noAnswer(),
  });
  for (const key of ["refused", "unanswered"]) set(key, 1);
  await clock.advance(3000);
  written.length = 0;
  writer.serverAnswered();
  await settled();
  assert.deepEqual(written, ["unanswered"]);
});

test("scheduleSeen() retries the key at once", async () => {
  const { set, written, writer } = setUp({ respond: () => refuse() });
  set("a", 1);
  await settled();
  writer.scheduleSeen("a");
  await settled();
  assert.deepEqual(written, ["a", "a"]);
});

test("a skipped write tells nothing about the server, and the key is asked again when it is due", async () => {
  const { clock, set, written, dueAt, server, stored } = setUp();
  server.respond = (key) => {
    dueAt.set(key, clock.now() + 1000);
    return Promise.resolve("skipped");
  };
  set("a", 1);
  await settled();
  assert.deepEqual([written.length, stored.size], [1, 0]);
  server.respond = () => Promise.resolve();
  await clock.advance(1000);
  assert.equal(stored.get("a"), 1);
});

test("forget() drops a key that waits", async () => {
  const { clock, set, written, writer, dueAt } = setUp();
  dueAt.set("a", clock.now() + 1000);
  set("a", 1);
  writer.forget("a");
  await clock.advance(5000);
  assert.deepEqual(written, []);
});

test("flush() waits for what is due and in flight, not for what is due later, and not beyond its time", async () => {
  const answer = Promise.withResolvers<void>();
  const { clock, set, writer, dueAt } = setUp({ respond: () => answer.promise });
  dueAt.set("later", clock.now() + 60_000);
  for (const key of ["now", "later"]) set(key, 1);
  let flushed = "";
  void writer.flush(1000).then(() => flushed += "first ");
  void writer.flush(5000).then(() => flushed += "second ");
  await clock.advance(1000);
  assert.equal(flushed, "first ");
  answer.resolve();
  await settled();
  assert.equal(flushed, "first second ");
});

test("flush() ends when the last due key is forgotten", async () => {
  const { set, writer, written } = setUp({ respond: noAnswer });
  const failing = ["a", "b", "c", "d", "e", "f", "g", "h"];
  for (const key of failing) set(key, 1);
  await settled();
  // The breaker is open: this key is due, and not written.
  set("waiting", 1);
  assert.ok(!written.includes("waiting"));
  let flushed = false;
  void writer.flush(60_000).then(() => flushed = true);
  for (const key of [...failing, "waiting"]) writer.forget(key);
  await settled();
  assert.equal(flushed, true);
});

test("close() aborts writes, ends flushes and starts no more", async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const writer = createKeyedWriter<string>({
    what: "tests",
    log: createTestLog(),
    maxInFlight: 1,
    clock,
    due: () => ({ at: 0, urgent: true }),
    write: (_, { signal }) => {
      signals.push(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  writer.schedule("a");
  writer.schedule("b");
  const flushed = writer.flush(60_000);
  writer.close();
  await flushed;
  writer.schedule("c");
  await clock.advance(60_000);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true]);
  assert.equal(clock.timers, 0);
});

type Step =
  | { do: "set" | "makeRoutine" | "see"; key: string }
  | { do: "delay"; key: string; ms: number }
  | { do: "wait"; ms: number }
  | { do: "hearServer" };

test("with a server that fails at random every key is written in the end, one write per key at a time", async () => {
  const key = fc.nat(11).map((number) => `key${number}`);
  const act = <K extends Step["do"]>(...kinds: K[]) => fc.constantFrom(...kinds);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 7, arbitrary: fc.record({ do: act("set"), key }) },
    { weight: 3, arbitrary: fc.record({ do: act("makeRoutine", "makeRoutine", "see"), key }) },
    { weight: 2, arbitrary: fc.record({ do: act("delay"), key, ms: fc.nat(5000) }) },
    { weight: 3, arbitrary: fc.record({ do: act("wait"), ms: fc.nat(2000) }) },
    { weight: 1, arbitrary: fc.record({ do: act("hearServer") }) },
  );
  const kinds = {
    stored: () => Promise.resolve(),
    refused: () => refuse(),
    noAnswer,
    busy: () => refuse(503),
  };
  const answer = fc.record({
    kind: fc.constantFrom<(keyof typeof kinds)[]>(
      "stored",
      "stored",
      "stored",
      "refused",
      "noAnswer",
      "busy",
    ),
    afterMs: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(500), fc.nat(15_000)),
  });
  const steps = fc.array(step, { maxLength: 240, size: "max" });
  // The server gives them one after the other, again and again.
  const answers = fc.array(answer, { minLength: 1, maxLength: 50, size: "max" });
  const property = fc.asyncProperty(steps, answers, async (steps, answers) => {
    const { clock, set, writer, wanted, stored, routine, dueAt, server, most } = setUp({ maxInFlight: 3 });
    let asked = 0;
    server.respond = async () => {
      const { kind, afterMs } = answers[asked++ % answers.length]!;
      if (afterMs > 0) await new Promise<void>((resolve) => clock.after(afterMs, resolve));
      return await kinds[kind]();
    };
    for (const [number, step] of steps.entries()) {
      if (step.do === "set") set(step.key, number);
      else if (step.do === "makeRoutine") routine.add(step.key);
      else if (step.do === "see") writer.scheduleSeen(step.key);
      else if (step.do === "delay") dueAt.set(step.key, clock.now() + step.ms);
      else if (step.do === "wait") await clock.advance(step.ms);
      else writer.serverAnswered();
    }
    server.respond = () => Promise.resolve();
    await clock.advance(120_000);
    assert.deepEqual([...stored].sort(), [...wanted].sort());
    const { mostPerKey, mostForAll } = most();
    // A world may want nothing.
    assert.equal(mostPerKey, Math.min(1, wanted.size));
    assert.ok(mostForAll <= 3);
  });
  await fc.assert(property, runs(40));
});
