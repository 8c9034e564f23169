import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { buildEnvironment, encodeEnvironment } from "../../../src/supervisor/run/environment.ts";
import { appWith } from "../fixtures.ts";

const identity = { uid: 1, gid: 1, groups: [1], user: "daemon", home: "/usr/sbin" };
const base = { identity, nodeName: "node-a", runId: "run-1", resolve: async () => undefined };

test("the shell reads every value exactly as it is", () => {
  const values = [
    "",
    "plain",
    "it's",
    '"$HOME" `id` $(id) \\',
    "two\nlines\n",
    " spaces ",
    "-n",
    "ü€😀",
    "'",
    "!*?[]{}~#;&|<>",
  ];
  const names = values.map((_, index) => `VALUE_${index}`);
  const assigned = encodeEnvironment(Object.fromEntries(values.map((value, index) => [names[index], value])));
  for (const shell of ["sh", "bash"]) {
    const text = `${assigned}printf '%s\\0' ${names.map((name) => `"$${name}"`).join(" ")}`;
    const output = execFileSync(shell, ["-c", text], { encoding: "utf8" });
    assert.deepEqual(output.split("\0").slice(0, -1), values, shell);
  }
});

test("the spec may set anything but the marker of the run", async () => {
  const app = appWith({ env: [{ name: "PATH", value: "/opt/bin" }, { name: "NCAPP_RUN", value: "forged" }] });
  const environment = await buildEnvironment(app, base);
  assert.deepEqual([environment.PATH, environment.NCAPP_RUN, environment.USER], [
    "/opt/bin",
    "run-1",
    "daemon",
  ]);
});

test("a variable may have the name of a member of every object", async () => {
  const app = appWith({ env: [{ name: "__proto__", value: "a" }, { name: "constructor", value: "b" }] });
  assert.match(
    encodeEnvironment(await buildEnvironment(app, base)),
    /^export __proto__='?a'?\nexport constructor='?b'?\n/m,
  );
});

test("an optional value that is missing is left out", async () => {
  const app = appWith({
    env: [{ name: "MAYBE", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } }],
  });
  assert.equal("MAYBE" in await buildEnvironment(app, base), false);
});

test("a value with a NUL byte is refused, with the name of the variable", async () => {
  const app = appWith({ env: [{ name: "BAD", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] });
  await assert.rejects(
    buildEnvironment(app, { ...base, resolve: async () => "a\0b" }),
    /spec\.env: the value of BAD contains a NUL/,
  );
});

test("values that Linux would not accept are refused before they fill the memory of the agent", async () => {
  const keyOf = (name: string) => ({ name, valueFrom: { configMapKeyRef: { name: "c", key: "k" } } });
  let resolved = 0;
  const build = (count: number, length: number) => {
    const env = Array.from({ length: count }, (_, at) => keyOf(`V${at}`));
    resolved = 0;
    return buildEnvironment(appWith({ env }), {
      ...base,
      resolve: async () => (resolved++, "é".repeat(length / 2)),
    });
  };
  await assert.rejects(build(1024, 1 << 20), /spec\.env: V0 has 1048578 bytes: Linux accepts at most 131070/);
  assert.equal(resolved, 1);
  await assert.rejects(build(1024, 131_000), /spec\.env: V48 and the variables before it have \d+ bytes/);
  assert.equal(resolved, 49);
  assert.equal((await build(40, 131_000)).V39?.length, 65_500);
});
