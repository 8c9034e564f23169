import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  type Candidate,
  chooseKernel,
  listKernels,
  machineId,
  type Verdict,
  verdictFile,
} from "../harness/kernels.ts";
import { tempFolder } from "../temp-folder.ts";

const works: Verdict = { machine: "here", parameters: [], features: [] };
const candidate = (version: string, verdict?: Verdict): Candidate => ({
  version,
  linux: `/cache/${version}/linux`,
  modules: `/cache/${version}/modules`,
  parameters: [],
  folder: `/cache/${version}`,
  verdict,
});

describe("chooseKernel()", () => {
  const older = candidate("6.1.176", { ...works, features: ["cgroup-v1-memory"] });
  const newer = candidate("7.2.7", works);

  test("takes the first that works", () => {
    assert.equal(chooseKernel([newer, older]), newer);
  });

  test("takes the one whose version is asked for", () => {
    assert.equal(chooseKernel([newer, older], { version: "6.1" }), older);
  });

  test("takes one with the features that a test needs", () => {
    assert.equal(chooseKernel([newer, older], { features: ["cgroup-v1-memory"] }), older);
  });

  test("passes over one that does not work, or was never tried", () => {
    const broken = candidate("7.2.7", { ...works, problem: "the guest panicked: no" });
    assert.equal(chooseKernel([broken, candidate("7.1.0"), older]), older);
  });

  test("says of each kernel why it cannot be taken", () => {
    const broken = candidate("7.2.7", { ...works, problem: "the guest panicked: no" });
    assert.deepEqual(chooseKernel([broken, candidate("6.1.176")]), {
      missing:
        "no User-Mode Linux: 7.2.7 does not work on this machine (the guest panicked: no); 6.1.176 was not tried on this machine",
    });
    assert.deepEqual(chooseKernel([newer], { features: ["cgroup-v1-memory"] }), {
      missing: "no User-Mode Linux with cgroup-v1-memory: 7.2.7 has no cgroup-v1-memory",
    });
    assert.deepEqual(chooseKernel([newer], { version: "5.10" }), {
      missing: "no User-Mode Linux 5.10: none in the cache",
    });
  });
});

describe("listKernels()", () => {
  test("finds the kernels of a cache, the newest first, with the verdicts of this machine", (t) => {
    const cache = tempFolder(t).path;
    const add = (name: string, version: string, verdict: string) => {
      mkdirSync(join(cache, name, "modules", version), { recursive: true });
      writeFileSync(join(cache, name, "linux"), "");
      writeFileSync(verdictFile(join(cache, name)), verdict);
    };
    add(
      "uml-a",
      "6.9.1",
      JSON.stringify({ ...works, machine: machineId(join(cache, "uml-a")), parameters: ["a=b"] }),
    );
    add("uml-b", "6.10.2", JSON.stringify(works));
    add("uml-c", "7.0.0", "{");
    const found = listKernels(cache).map(({ version, parameters, verdict }) => [
      version,
      parameters,
      verdict?.features,
    ]);
    assert.deepEqual(found, [["7.0.0", [], undefined], ["6.10.2", [], undefined], ["6.9.1", ["a=b"], []]]);
  });

  test("finds none where there is no cache", () => {
    assert.deepEqual(listKernels("/nowhere"), []);
  });
});

test("machineId() differs by the flags of the CPU and by the folder", () => {
  const cpu = (flags: string) => `model name\t: A\nflags\t\t: ${flags}\n`;
  assert.notEqual(machineId("/a", cpu("fpu")), machineId("/a", cpu("fpu amx_tile")));
  assert.notEqual(machineId("/a", cpu("fpu")), machineId("/b", cpu("fpu")));
  assert.equal(machineId("/a", cpu("fpu")), machineId("/a", cpu("fpu") + cpu("fpu amx_tile")));
});
