import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeMechanism,
  type MechanismFacts,
  mechanismOf,
  mechanisms,
  portMechanisms,
  probeMechanisms,
} from "../../src/api/probe-mechanisms.ts";
import { rules } from "../../src/api/rules/rules.ts";
import { probeActions } from "../../src/api/schema/schema.ts";

test("the schema and the facts have the same mechanisms", () => {
  assert.deepEqual(mechanisms, Object.keys(probeActions));
});

test("a forgotten mechanism, or a wrong usesPort, does not compile", () => {
  // @ts-expect-error: tcpSocket is missing
  const facts: typeof probeMechanisms = { exec: probeMechanisms.exec, httpGet: probeMechanisms.httpGet };
  // @ts-expect-error: httpGet has a port
  const port: MechanismFacts<"httpGet"> = { describe: () => "", usesPort: false };
  assert.ok(facts && port);
});

test("the mechanisms that use a port are those whose schema has one", () => {
  const withPort = mechanisms.filter((mechanism) => "port" in probeActions[mechanism].properties);
  assert.deepEqual(portMechanisms, withPort);
  for (const mechanism of withPort) {
    assert.ok(rules.some(({ blames }) => blames === `livenessProbe.${mechanism}.port`), mechanism);
  }
});

test("the rule asks for exactly one of all mechanisms, in CEL and in TypeScript", () => {
  const rule = rules.find(({ at }) => at === "spec.livenessProbe");
  assert.equal(rule?.message, `must have exactly one of ${mechanisms.join(", ")}`);
  for (const mechanism of mechanisms) {
    assert.ok(rule?.cel?.includes(`has(self.${mechanism})`), mechanism);
    assert.equal(rule?.holds({ [mechanism]: {} }), true);
    assert.equal(
      rule?.holds({ [mechanism]: {}, [mechanisms.find((other) => other !== mechanism)!]: {} }),
      false,
    );
  }
  assert.equal(rule?.holds({}), false);
});

test("a probe is described by its mechanism", () => {
  const descriptions = [
    describeMechanism({ exec: { command: ["pg_isready", "-q"] } }),
    describeMechanism({ httpGet: { port: 8080 } }),
    describeMechanism({ httpGet: { scheme: "HTTPS", host: "web.local", port: "http", path: "/health" } }),
    describeMechanism({ tcpSocket: { port: 5432 } }),
    describeMechanism({}),
  ];
  assert.deepEqual(descriptions, [
    "run pg_isready -q",
    "GET http://127.0.0.1:8080/",
    "GET https://web.local:http/health",
    "connect to 127.0.0.1:5432",
    "unknown mechanism",
  ]);
  assert.equal(mechanismOf({}), undefined);
});
