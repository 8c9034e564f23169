import assert from "node:assert/strict";
import { test } from "node:test";
import { activePressures, parsePublished, publish, type Published } from "../../src/node/published.ts";
import { noPressure, stepPressure } from "../../src/node/pressure.ts";
import { calmUsage, start } from "./samples.ts";

const published: Published = {
  used: { cpuPCT: 12.5, memPCT: 40 },
  free: { cpuPCT: 55, memPCT: 0 },
  reserved: { cpuPCT: 5, memPCT: 10 },
  pressure: ["memory", "pid"],
  version: "1.2.3",
};

test("publish() writes annotations that parsePublished() reads", () => {
  assert.deepEqual(publish(published), {
    "app.example.com/cpu-used-pct": "12.5",
    "app.example.com/mem-used-pct": "40.0",
    "app.example.com/cpu-free-pct": "55.0",
    "app.example.com/mem-free-pct": "0.0",
    "app.example.com/cpu-reserved-pct": "5.0",
    "app.example.com/mem-reserved-pct": "10.0",
    "app.example.com/pressure": "memory,pid",
    "app.example.com/nckubelet-version": "1.2.3",
  });
  assert.deepEqual(parsePublished(publish(published)), published);
});

test("parsePublished() does not guess values that are missing or not numbers", () => {
  assert.equal(parsePublished(undefined), undefined);
  for (const key of ["cpu-used-pct", "mem-used-pct", "cpu-free-pct", "mem-free-pct", "mem-reserved-pct"]) {
    const annotations = publish(published);
    for (const bad of ["", "many"]) {
      assert.equal(parsePublished({ ...annotations, [`app.example.com/${key}`]: bad }), undefined);
    }
    delete annotations[`app.example.com/${key}`];
    assert.equal(parsePublished(annotations), undefined);
  }
  assert.deepEqual(
    parsePublished({ ...publish(published), "app.example.com/pressure": "gravity" })?.pressure,
    [],
  );
});

test("activePressures() names what is short", () => {
  const state = stepPressure(
    noPressure,
    { ...calmUsage, memoryAvailableBytes: 1, threads: 1e9 },
    start,
  );
  assert.deepEqual(activePressures(state), ["memory", "pid"]);
});
