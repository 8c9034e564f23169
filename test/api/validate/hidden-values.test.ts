import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import { showSpec } from "../../../src/api/shown-spec.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { validateNCApp, validateWritten } from "../../../src/api/validate/validate.ts";
import { appWith, goodSpecs } from "../samples.ts";

const httpGet = { port: 80, httpHeaders: [{ name: "Accept", value: "text/plain" }] };
const spec: NCAppSpec = {
  shellFile: "https://example.com/run.sh?sig=secret#part",
  env: [
    { name: "PASSWORD", value: "secret" },
    { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
  ],
  livenessProbe: { httpGet },
  readinessProbe: { httpGet },
  startupProbe: { httpGet },
};
const mirror = { [annotations.mirror]: "node-a/0123456789abcdef" };

test("a copy with hidden secrets is a valid mirror, but is rejected as a manifest for each placeholder", () => {
  const copy = appWith(showSpec(spec), { name: "web", annotations: mirror });
  assert.deepEqual(validateNCApp(copy), []);
  assert.deepEqual(validateWritten(copy).map(({ message }) => message), [
    'metadata.annotations[app.example.com/config.mirror]: Invalid value: "node-a/0123456789abcdef": this is a ' +
    "mirror of an app on its node, without its secrets: apply the original manifest",
    'spec.shellFile: Invalid value: "https://example.com/run.sh?***#part": is the placeholder of ' +
    "a URL with a hidden query: write the whole URL",
    'spec.env[0].value: Invalid value: (set on the node): is the placeholder of the hidden value of "PASSWORD": write the value',
    ...["livenessProbe", "readinessProbe", "startupProbe"].map((probe) =>
      `spec.${probe}.httpGet.httpHeaders[0].value: Invalid value: (set on the node): is the placeholder of the hidden ` +
      'value of "Accept": write the value'
    ),
  ]);
});

test("a mirror is rejected as a manifest even if it hides nothing", () => {
  const copy = appWith({ shellFile: "/opt/web.sh" }, { name: "web", annotations: mirror });
  assert.deepEqual(validateWritten(copy).map(({ field }) => field), [
    "metadata.annotations[app.example.com/config.mirror]",
  ]);
});

test("a URL with hidden credentials is rejected once", () => {
  const copy = appWith(showSpec({ shellFile: "https://me:secret@example.com/run.sh?sig=secret" }));
  assert.deepEqual(validateWritten(copy).map(({ field }) => field), ["spec.shellFile"]);
});

test("values that only resemble placeholders are accepted", () => {
  const near = [
    "/opt/what?***",
    "https://example.com/a?b=***",
    "https://example.com/a?x?***",
    "https://example.com/#?***",
    "https://example.com/***",
  ];
  const specs = [
    ...goodSpecs,
    spec,
    ...near.map((shellFile) => ({ shellFile })),
    { env: [{ name: "A", value: "(set on the node) " }], args: ["(set on the node)"] },
  ];
  for (const spec of specs) assert.deepEqual(validateWritten(appWith(spec)), [], JSON.stringify(spec));
  const annotated = appWith({}, { name: "web", annotations: { [annotations.restartedAt]: "1" } });
  assert.deepEqual(validateWritten(annotated), []);
});

test("malformed apps are reported by the schema", () => {
  for (
    const object of [null, 1, [], {}, { spec: [] }, { metadata: { annotations: [] }, spec: { env: {} } }]
  ) {
    assert.deepEqual(validateWritten(object), validateNCApp(object), JSON.stringify(object));
  }
});
