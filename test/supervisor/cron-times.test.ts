import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import fc from "fast-check";
import { nextRun } from "../../src/supervisor/cron-times.ts";
import { runs } from "../properties.ts";

/** The next three times, in UTC. */
function three(expression: string, zone: string, after: string): string[] {
  const times: string[] = [];
  for (let at = Date.parse(after); times.length < 3;) {
    at = nextRun(expression, zone, at) ?? assert.fail("no next time");
    times.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
  }
  return times;
}

for (
  const [expression, zone, after, expected] of [
    ["*/20 * * * *", "UTC", "2026-01-01T00:00:00Z", [
      "2026-01-01T00:20Z",
      "2026-01-01T00:40Z",
      "2026-01-01T01:00Z",
    ]],
    ["0 9 * * 1-5", "UTC", "2026-11-13T10:00:00Z", [
      "2026-11-16T09:00Z",
      "2026-11-17T09:00Z",
      "2026-11-18T09:00Z",
    ]],
    ["@monthly", "UTC", "2026-11-16T00:00:00Z", [
      "2026-12-01T00:00Z",
      "2027-01-01T00:00Z",
      "2027-02-01T00:00Z",
    ]],
    ["0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z", [
      "2026-11-06T00:00Z",
      "2026-11-13T00:00Z",
      "2026-11-20T00:00Z",
    ]],
    // Neither day is a star: either is enough.
    ["0 0 1-31 * 1", "UTC", "2026-11-01T00:00:00Z", [
      "2026-11-02T00:00Z",
      "2026-11-03T00:00Z",
      "2026-11-04T00:00Z",
    ]],
    ["0 0 * * 1", "UTC", "2026-11-01T00:00:00Z", [
      "2026-11-02T00:00Z",
      "2026-11-09T00:00Z",
      "2026-11-16T00:00Z",
    ]],
    ["0 0 1,15 * 0-6", "UTC", "2026-11-01T00:00:00Z", [
      "2026-11-02T00:00Z",
      "2026-11-03T00:00Z",
      "2026-11-04T00:00Z",
    ]],
    ["0 12 29 2 *", "UTC", "2026-01-01T00:00:00Z", [
      "2028-02-29T12:00Z",
      "2032-02-29T12:00Z",
      "2036-02-29T12:00Z",
    ]],
    ["30 8 * * *", "Asia/Shanghai", "2026-01-01T00:00:00Z", [
      "2026-01-01T00:30Z",
      "2026-01-02T00:30Z",
      "2026-01-03T00:30Z",
    ]],
    ["0 0 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", [
      "2026-01-01T18:15Z",
      "2026-01-02T18:15Z",
      "2026-01-03T18:15Z",
    ]],
    // Berlin, 29 March 2026: 02:00 becomes 03:00.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", [
      "2026-03-28T01:30Z",
      "2026-03-30T00:30Z",
      "2026-03-31T00:30Z",
    ]],
    ["0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", [
      "2026-03-29T01:00Z",
      "2026-03-29T02:00Z",
      "2026-03-29T03:00Z",
    ]],
    // Berlin, 25 October 2026: 03:00 becomes 02:00.
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", [
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
      "2026-10-27T01:30Z",
    ]],
    ["0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", [
      "2026-10-25T00:00Z",
      "2026-10-25T01:00Z",
      "2026-10-25T02:00Z",
    ]],
  ] as const
) {
  test(`${expression} in ${zone} after ${after} is due at ${expected.join(", ")}`, () => {
    assert.deepEqual(three(expression, zone, after), expected);
  });
}

test("the next time is always later, and nothing due lies between, whatever the schedule, the zone and the day", () => {
  const expression = fc.tuple(fc.nat(59), fc.nat(23), fc.nat(6))
    .map(([minute, hour, weekday]) => `${minute} ${hour} * * ${weekday}`);
  const zone = fc.constantFrom("UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia");
  const time = fc.date({ min: new Date("2026-01-01"), max: new Date("2027-02-05"), noInvalidDate: true });
  const later = (expression: string, zone: string, time: Date) => {
    const after = time.getTime();
    const next = nextRun(expression, zone, after) ?? assert.fail("it never comes");
    assert.ok(next > after && next - after <= 15 * 86_400_000, new Date(next).toISOString());
    assert.equal(nextRun(expression, zone, next - 1000), next);
  };
  // The time zones are those of the runtime.
  fc.assert(fc.property(expression, zone, time, later), runs(300, 300));
});

test("a schedule of every second costs about as much as one of every minute", () => {
  const cost = (expression: string) => {
    const start = process.cpuUsage();
    for (let round = 0; round < 300; round++) {
      nextRun(expression, "Europe/Berlin", Date.UTC(2026, 5, 1, 21, 59, 30) + round * 1000);
    }
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  // The least of some: a compilation or collection of garbage may cost more than all rounds.
  const least = (expression: string) => Math.min(...[1, 2, 3, 4, 5].map(() => cost(expression)));
  const ratio = least("*/2 * * * * *") / least("* * * * *");
  assert.ok(ratio < 5, `it costs ${ratio.toFixed(1)} times as much`);
});

test("seconds are found across the hour that repeats and the hour that is skipped", () => {
  for (const start of ["2026-10-25T00:30:00Z", "2026-03-29T00:30:00Z"]) {
    for (let at = Date.parse(start), step = 0; step < 400; step++) {
      const next = nextRun("*/30 * * * * *", "Europe/Berlin", at) ?? assert.fail("no next time");
      assert.equal(next - at, 30_000, new Date(at).toISOString());
      at = next;
    }
  }
});

test("a time zone that is written in many ways costs no memory for each of them", (t) => {
  const made = t.mock.method(Intl, "DateTimeFormat");
  const name = "europe/berlin";
  const written = (at: number) => [...name].map((c, i) => at >> i & 1 ? c.toUpperCase() : c).join("");
  for (let at = 0; at < 300; at++) nextRun("0 0 * * *", written(at), 0);
  const before = made.mock.callCount();
  nextRun("0 0 * * *", written(0), 0);
  assert.equal(made.mock.callCount(), before + 1, "the first was forgotten");
});
