import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { call } from "./call.ts";
import { program } from "./own-program.ts";

const manifest = `apiVersion: app.example.com/v1alpha1
kind: NCApp
metadata: {name: web}
spec: {shellFile: /opt/web.sh, cpuPCT: 20}
`;

test("validate -f - reads standard input that is a socket", async () => {
  // What Node calls a pipe is a pair of sockets, which have no path to open.
  const [file = "", ...args] = [...program, "validate", "-f", "-"];
  const child = spawn(file, args, { stdio: "pipe" });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => output += text);
  }
  child.stdin.end(manifest);
  const [code] = await once(child, "close");
  assert.deepEqual([code, output], [0, "-: default/web is valid\n"]);
});

test("standard input is read completely, in whatever pieces it arrives", async () => {
  async function* stdin() {
    for (const byte of new TextEncoder().encode(manifest.replace("20", "käse"))) yield Uint8Array.of(byte);
  }
  const { stderr } = await call(["validate", "-f", "-"], { stdin }).done;
  assert.match(stderr, /standard input.*käse/);
});

test("standard input that is empty or named twice is refused", async () => {
  assert.equal((await call(["validate", "-f", "-"]).done).stderr, "-: contains no manifest\n");
  const twice = await call(["validate", "-f", "-", "-"]).done;
  assert.equal(twice.code, 2);
  assert.match(twice.stderr, /standard input can be read only once/);
});
