import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readLogQuery } from "../../../src/server/kubelet/container-logs.ts";
import { readCommandQuery } from "../../../src/server/kubelet/exec.ts";
import { parseSize } from "../../../src/server/kubelet/remote-command.ts";
import { Refusal } from "../../../src/server/refusal.ts";
import { runs } from "../../properties.ts";
import { parsePortHeaders } from "../../../src/server/kubelet/port-forward.ts";

const url = (query: string) => new URL(`https://node/x${query}`);

test("readLogQuery() reads every parameter of PodLogOptions, and ignores others", () => {
  const hour = Date.parse("2026-11-17T07:00:00Z");
  const table: [query: string, found: object][] = [
    ["", {}],
    ["?follow=true&timestamps=true&previous=true", { follow: true, timestamps: true, previous: true }],
    ["?tailLines=10&limitBytes=500", { tailLines: 10, limitBytes: 500 }],
    ["?tailLines=9007199254740", { tailLines: 9_007_199_254_740 }],
    ["?sinceSeconds=60", { sinceSeconds: 60 }],
    ["?sinceTime=2026-11-17T07:00:00Z", { sinceTime: new Date(hour) }],
    ["?sinceTime=2026-11-17T07:00:00.5%2B01:00", { sinceTime: new Date(hour - 3_599_500) }],
    ["?follow=&stream=All", {}],
  ];
  for (const [query, found] of table) assert.deepEqual(readLogQuery(url(query)), found, query);
});

test("a parameter that cannot be read is a 400 with its name and value", () => {
  for (
    const query of ["tailLines=-1", "tailLines=x", "limitBytes=1.5", "follow=maybe", "sinceTime=yesterday"]
  ) {
    const [name, value] = query.split("=");
    assert.throws(
      () => readLogQuery(url(`?${query}`)),
      (error: Error & { code: number }) =>
        error.code === 400 && error.message.startsWith(`query parameter ${name}: Invalid value: "${value}"`),
      query,
    );
  }
});

test("readCommandQuery() reads the command and the streams that the client opens", () => {
  const table: [query: string, found: object][] = [
    ["?command=sh&command=-c&command=exit+7&output=1&error=1", {
      command: ["sh", "-c", "exit 7"],
      tty: false,
      streams: ["error", "stdout", "stderr"],
    }],
    ["?command=sh&input=1&output=1&tty=1&error=1", {
      command: ["sh"],
      tty: true,
      streams: ["error", "stdin", "stdout", "resize"],
    }],
    ["?command=a%20b&command=&input=true", { command: ["a b", ""], tty: false, streams: ["error", "stdin"] }],
  ];
  for (const [query, found] of table) assert.deepEqual(readCommandQuery(url(query)), found, query);
  assert.throws(
    () => readCommandQuery(url("?command=sh")),
    /one of the query parameters input, output and error/,
  );
  assert.throws(() => readCommandQuery(url("?command=a%00b&output=1")), /NUL/);
});

test("parseSize() reads terminal sizes and nothing else", () => {
  assert.deepEqual(parseSize('{"Width":91,"Height":33}'), { columns: 91, rows: 33 });
  for (
    const line of [
      "",
      "{}",
      "[]",
      "null",
      '{"Width":0,"Height":1}',
      '{"Width":1e9,"Height":1}',
      '{"Width":"1","Height":1}',
    ]
  ) {
    assert.equal(parseSize(line), undefined, line);
  }
});

test("parsePortHeaders() wants a type, a port and an id", () => {
  const of = (headers: Record<string, string>) => parsePortHeaders(new Map(Object.entries(headers)));
  assert.deepEqual(of({ streamtype: "data", port: "80", requestid: "0" }), {
    type: "data",
    port: 80,
    id: "0",
  });
  const bad = [
    {},
    { streamtype: "stdin", port: "80", requestid: "1" },
    ...["0", "65536", "-1", "80x", ""].map((port) => ({ streamtype: "data", port, requestid: "1" })),
    { streamtype: "data", port: "80" },
    { streamtype: "data", port: "80", requestid: "../1" },
  ];
  for (const headers of bad) {
    assert.equal(of(headers as Record<string, string>), undefined, JSON.stringify(headers));
  }
});

test("whatever a client asks for, the answer is a value or a 400", () => {
  const word = fc.oneof(
    fc.string({ maxLength: 50 }),
    fc.constantFrom("9".repeat(5000), "1e308", "-0", "%00", "\0", "{".repeat(5000)),
  );
  const name = fc.constantFrom(
    "tailLines",
    "limitBytes",
    "sinceTime",
    "sinceSeconds",
    "follow",
    "tty",
    "input",
    "command",
    "x",
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, word), { maxLength: 20 }), (pairs) => {
      const asked = new URL(`https://node/x?${new URLSearchParams(pairs)}`);
      for (const read of [readLogQuery, readCommandQuery]) {
        try {
          read(asked);
        } catch (error) {
          assert.ok(error instanceof Refusal && error.code === 400, String(error));
          assert.ok(error.message.length < 500, `${error.message.length} characters`);
        }
      }
      for (const [, text] of pairs) {
        parseSize(text);
        parsePortHeaders(new Map([["streamtype", "data"], ["port", text], ["requestid", text]]));
      }
    }),
    runs(300),
  );
});
