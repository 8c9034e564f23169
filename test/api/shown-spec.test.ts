import assert from "node:assert/strict";
import { test } from "node:test";
import { hiddenValue, showSpec, showURL } from "../../src/api/shown-spec.ts";
import type { NCAppSpec } from "../../src/api/types.ts";

test("showURL() hides user, password and query, and leaves a path unchanged", () => {
  assert.equal(
    showURL("https://me:secret@example.com/a?token=secret#part"),
    "https://***@example.com/a?***#part",
  );
  assert.equal(showURL("https://secret@example.com/"), "https://***@example.com/");
  assert.equal(showURL("https://a@b:secret@["), "https://***@[");
  assert.equal(showURL("https://example.com/a@b"), "https://example.com/a@b");
  assert.equal(showURL("/opt/what?/me@home.sh"), "/opt/what?/me@home.sh");
});

test("showSpec() hides values of variables and headers, and credentials and query of a URL", () => {
  const httpGet = { port: 80, httpHeaders: [{ name: "Authorization", value: "Bearer secret" }] };
  const spec: NCAppSpec = {
    shellFile: "https://me:secret@example.com/a?sig=secret",
    env: [
      { name: "PASSWORD", value: "secret" },
      { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
    ],
    livenessProbe: { httpGet },
    readinessProbe: { httpGet, periodSeconds: 3 },
    startupProbe: { httpGet },
    args: ["--port", "80"],
  };
  const before = structuredClone(spec);
  const shown = showSpec(spec);
  assert.doesNotMatch(JSON.stringify(shown), /secret["@&?]/);
  assert.deepEqual(shown.env, [{ name: "PASSWORD", value: hiddenValue }, spec.env![1]]);
  assert.deepEqual(shown.readinessProbe, {
    httpGet: { port: 80, httpHeaders: [{ name: "Authorization", value: hiddenValue }] },
    periodSeconds: 3,
  });
  assert.deepEqual(shown.args, spec.args);
  assert.deepEqual(spec, before, "the spec itself stays as it is");
});

test("showSpec() leaves a spec without secrets unchanged", () => {
  const spec: NCAppSpec = { shellFile: "/opt/web.sh", livenessProbe: { tcpSocket: { port: 80 } } };
  assert.deepEqual(showSpec(spec), spec);
  assert.deepEqual(showSpec({}), {});
});
