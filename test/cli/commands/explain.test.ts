import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../call.ts";

const explain = async (...words: string[]) => await call(["explain", ...words]).done;

test("explain describes a field with its type, default and fields, with or without spec", async () => {
  const { stdout } = await explain("spec.livenessProbe");
  assert.match(stdout, /^spec\.livenessProbe <object>\n/);
  assert.match(stdout, /^ {2}httpGet +<object> +\S/m);
  assert.match(stdout, /^ {2}periodSeconds +<integer>/m);
  const policy = (await explain("restartPolicy")).stdout;
  assert.match(policy, /^spec\.restartPolicy <string>\n/);
  assert.match(policy, /Default: "Always"\n {2}One of: Always, OnFailure, Never\n/);
  assert.match((await explain("ncapp.spec.env[].name")).stdout, /^spec\.env\.name <string>/);
  assert.match((await explain("cpuPCT")).stdout, /<number or string>/);
  assert.match((await explain()).stdout, /^NCApp <object>[^]*^ {2}spec +<object> required/m);
});

test("explain describes the fields of sets under ncappset, as kubectl explain does", async () => {
  assert.match((await explain("ncappset")).stdout, /^NCAppSet <object>[^]*^ {2}spec +<object> required/m);
  const { stdout } = await explain("ncappset.spec.update.maxUnavailable");
  assert.match(stdout, /^ncappset\.spec\.update\.maxUnavailable <number or string>\n[^]*Default: 1\n/);
  assert.equal((await explain("ncappsets.update.maxUnavailable")).stdout, stdout);
  assert.match(
    (await explain("ncas.spec.template.spec.cpuPCT")).stdout,
    /^ncappset\.spec\.template\.spec\.cpuPCT </,
  );
  assert.match((await explain("nca.spec.cpuPCT")).stdout, /^spec\.cpuPCT </);
  assert.match(
    (await explain("ncappset.spec.updat")).stderr,
    /ncappset\.spec has no field "updat"; did you mean update\?/,
  );
  assert.match(
    (await explain("replicas")).stderr,
    /spec has no field "replicas"; did you mean ncappset\.spec\.replicas\?/,
  );
});

test("an unknown field is refused with a suggestion", async () => {
  const { code, stderr } = await explain("spec.cpuPTC");
  assert.equal(code, 2);
  assert.match(stderr, /spec has no field "cpuPTC"; did you mean cpuPCT\?/);
});
