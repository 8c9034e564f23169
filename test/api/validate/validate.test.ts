import assert from "node:assert/strict";
import { test } from "node:test";
import { cronProblem } from "../../../src/api/rules/rules.ts";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { appWith, badSpecs, goodSpecs } from "../samples.ts";

const messages = (object: unknown) => validateNCApp(object).map(({ message }) => message);

test("the smallest NCApp is valid", () => {
  assert.deepEqual(
    validateNCApp(appWith({ shellFile: "", cpuPCT: "", memPCT: "" }, { name: "test-ncapp1" })),
    [],
  );
});

test("every good spec is accepted", () => {
  for (const spec of goodSpecs) assert.deepEqual(messages(appWith(spec)), [], JSON.stringify(spec));
});

test("every bad spec is rejected once, with the field, the value and the reason", () => {
  for (const { spec, field } of badSpecs) {
    const errors = validateNCApp(appWith(spec));
    assert.deepEqual(
      errors.map((error) => error.field),
      [field],
      `${JSON.stringify(spec)}: ${JSON.stringify(errors)}`,
    );
    assert.match(
      errors[0]!.message,
      /: (Invalid value: .+: .+|Unsupported value: .+: .+|Required value|Duplicate value: .+)/,
    );
  }
});

test("a message names the field, the value and what is valid", () => {
  assert.deepEqual(messages(appWith({ cpuPCT: "200" })), [
    'spec.cpuPCT: Invalid value: "200": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ]);
  assert.deepEqual(messages(appWith({ cpuPCT: 12.5 })), [
    'spec.cpuPCT: Invalid value: 12.5: must be a string if it is a fraction: "12.5"',
  ]);
  assert.deepEqual(messages(appWith({ restartPolicy: "always" })), [
    'spec.restartPolicy: Unsupported value: "always": supported values: "Always", "OnFailure", "Never": did you mean "Always"?',
  ]);
  assert.deepEqual(messages(appWith({ shellFile: "ftp://host/x" })), [
    'spec.shellFile: Invalid value: "ftp://host/x": the scheme "ftp" is not supported: use https or http',
  ]);
  assert.deepEqual(messages(appWith({ suspend: "yes" })), [
    'spec.suspend: Invalid value: "yes": must be true or false, not a string',
  ]);
});

test("an unknown field is reported with the closest known one", () => {
  assert.deepEqual(messages(appWith({ cpuPct: "20" })), [
    'spec.cpuPct: Unknown field: did you mean "cpuPCT"?',
  ]);
  assert.deepEqual(messages(appWith({ livenessProbe: { exec: { command: ["x"] }, periodSecond: 5 } })), [
    'spec.livenessProbe.periodSecond: Unknown field: did you mean "periodSeconds"?',
  ]);
  assert.deepEqual(messages(appWith({ picture: "nginx" })), ["spec.picture: Unknown field"]);
  assert.deepEqual(messages({ ...appWith({}), data: {} }), ["data: Unknown field"]);
});

test("all problems are reported, not only the first", () => {
  const fields = validateNCApp(
    appWith({ cpuPCT: "x", backoffSeconds: 600, env: [{ name: "1" }], nope: 1 }, {}),
  )
    .map(({ field }) => field);
  assert.deepEqual(fields, [
    "metadata.name",
    "spec.env[0].name",
    "spec.cpuPCT",
    "spec.nope",
    "spec.maxBackoffSeconds",
  ]);
});

test("metadata must have a name that Kubernetes accepts", () => {
  const fields = (metadata: unknown) => validateNCApp({ ...appWith({}), metadata }).map(({ field }) => field);
  assert.deepEqual(fields({ name: "a.b-1", namespace: "team-1" }), []);
  assert.deepEqual(
    fields({ name: "a", managedFields: [], ownerReferences: [], creationTimestamp: null }),
    [],
  );
  for (const name of ["A", "a_b", "../x", "a/b", ".a", "a..b", "", "x".repeat(254)]) {
    assert.deepEqual(fields({ name }), ["metadata.name"], name);
  }
  for (const namespace of ["a.b", "-a", "x".repeat(64), ""]) {
    assert.deepEqual(fields({ name: "a", namespace }), ["metadata.namespace"], namespace);
  }
});

test("another kind, another version and non-objects are rejected", () => {
  const fields = (object: unknown) => validateNCApp(object).map(({ field }) => field);
  assert.deepEqual(fields({ ...appWith({}), kind: "Pod" }), ["kind"]);
  assert.deepEqual(fields({ ...appWith({}), apiVersion: "app.example.com/v2" }), ["apiVersion"]);
  for (const object of [null, undefined, 5, "x", [], true]) assert.deepEqual(fields(object), [""]);
});

test("a status is ignored, as the API server does", () => {
  assert.deepEqual(validateNCApp({ ...appWith({}), status: { phase: "Whatever", extra: 1 } }), []);
});

test("credentials of a rejected URL are not in its message", () => {
  const text = JSON.stringify(validateNCApp(appWith({ shellFile: "https://user:hunter2@host/x" })));
  assert.match(text, /https:\/\/\*\*\*@host\/x/);
  assert.doesNotMatch(text, /hunter2|user:/);
});

test("errors never show the value of a variable or header, however malformed", () => {
  const specs = [
    { env: [{ name: "PIN", value: 84639217 }] },
    { env: { PIN: "84639217" } },
    { env: ["PIN=84639217"] },
    { env: [{ name: "PIN", value: "84639217\0" }] },
    { livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: "PIN", value: "84639217\n" }] } } },
    { livenessProbe: { httpGet: { port: 80, httpHeaders: ["PIN: 84639217"] } } },
  ];
  for (const spec of specs) {
    const errors = validateNCApp(appWith(spec));
    assert.ok(errors.length > 0, JSON.stringify(spec));
    assert.doesNotMatch(JSON.stringify(errors), /84639217/);
  }
  const [twice] = validateNCApp(appWith({ env: [{ name: "PIN" }, { name: "PIN" }] }));
  assert.match(twice!.message, /Duplicate value: .*PIN/);
});

test("long values and long names are shortened", () => {
  const [bad] = validateNCApp(appWith({ nodeSelector: { ["{".repeat(5000)]: "x" } }));
  assert.ok(bad!.message.length < 1000, `${bad!.message.length}`);
  const [error] = validateNCApp(appWith({ cpuPCT: "9".repeat(100_000) }));
  assert.ok(error!.message.length < 400);
});

test("a hostile document is checked quickly", () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field${i}`, 1]));
  assert.equal(validateNCApp(appWith(many)).length, 20);
  const long = "a".repeat(1_000_000);
  const fields = validateNCApp(appWith({
    nodeSelector: { [`${long}!`]: "x" },
    nodeName: `${long}!`,
    schedule: "1-".repeat(500_000),
    [long]: 1,
  })).map(({ field }) => field.slice(0, 20));
  assert.deepEqual(fields.sort(), [
    "spec.aaaaaaaaaaaaaaa",
    "spec.nodeName",
    "spec.nodeSelector",
    "spec.schedule",
  ]);
});

test("names from Object.prototype are ordinary unknown fields", () => {
  const object = JSON.parse('{"__proto__": {"cpuPCT": "1"}, "constructor": 1, "toString": 2}');
  assert.deepEqual(messages(appWith(object)).sort(), [
    "spec.__proto__: Unknown field",
    "spec.constructor: Unknown field",
    "spec.toString: Unknown field",
  ]);
});

test("node-cron accepts every schedule that passes", async () => {
  const { validate } = await import("node-cron");
  const parts = {
    second: ["*", "*/7", "0", "59", "1-5", "1-30/4", "1,2,3"],
    hour: ["*", "*/2", "0", "23", "9-17", "8-18/3", "1,13"],
    day: ["*", "?", "1", "31", "1-7", "*/10", "1,15"],
    month: ["*", "1", "12", "jan", "JAN-Mar", "2-4", "feb,apr", "*/3"],
    weekday: ["*", "?", "0", "7", "sun", "MON-FRI", "1-5/2", "sat,sun", "5-7"],
  };
  let passed = 0;
  for (let i = 0; i < 5_000; i++) {
    const pick = (list: string[], salt: number) => list[(i * salt + (i >> 3)) % list.length]!;
    const fields = [
      pick(parts.second, 3),
      pick(parts.hour, 5),
      pick(parts.day, 11),
      pick(parts.month, 13),
      pick(parts.weekday, 17),
    ];
    const expression = (i % 4 === 0 ? [pick(parts.second, 19), ...fields] : fields).join(" ");
    if (cronProblem(expression) !== undefined) continue;
    passed++;
    assert.ok(validate(expression), expression);
  }
  assert.ok(passed > 4_000);
  for (const nickname of ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]) {
    assert.equal(cronProblem(nickname), undefined);
    assert.ok(validate(nickname), nickname);
  }
});
