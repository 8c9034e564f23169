import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { dropInheritable } from "../../../src/supervisor/launcher/sh.ts";

test("dropInheritable() says nothing where there is nothing to drop, and names each capability that is", () => {
  assert.deepEqual(
    dropInheritable("Name:\tnode\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\n"),
    [],
  );
  assert.deepEqual(dropInheritable("CapInh:\t0000000000000401\n"), ["--inh-caps=-cap_0,-cap_10"]);
  assert.deepEqual(dropInheritable(""), []);
});

test("setpriv drops what dropInheritable() names", {
  skip: process.getuid?.() !== 0 && "only root has capabilities to hand down",
}, async () => {
  const words = dropInheritable("CapInh:\t0000000000000401\n");
  const inner = ["setpriv", ...words, "grep", "CapInh", "/proc/self/status"];
  const { stdout } = await promisify(execFile)("setpriv", ["--inh-caps=+cap_0,+cap_10,+cap_5", ...inner]);
  assert.equal(stdout, "CapInh:\t0000000000000020\n");
});
