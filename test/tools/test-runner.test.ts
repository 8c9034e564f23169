import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkout } from "../../tools/checkout.ts";
import { maySkip } from "../../tools/test/allowed-skips.ts";
import { dependentsOf } from "../../tools/test/changed.ts";
import { divide } from "../../tools/test/groups.ts";
import { runLanes } from "../../tools/test/run-lanes.ts";
import {
  allowedCpus,
  cpusOf,
  type Lane,
  planOf,
  runsBesideCaps,
  runsOf,
  runsOnDeno,
  type SuiteName,
  suiteNames,
  suiteOf,
} from "../../tools/test/suites.ts";
import { parseDenoTotals } from "../../tools/test/totals.ts";

test("parseDenoTotals() counts steps as tests", () => {
  const lines = {
    "ok | 8 passed (4 steps) | 0 failed | 2 ignored (82ms)": { passed: 12, failed: 0, skipped: 2 },
    "FAILED | 7 passed (3 steps) | 1 failed (1 step) | 2 ignored (1 step) (170ms)": {
      passed: 10,
      failed: 2,
      skipped: 3,
    },
    "ok | 1 passed | 0 failed (1s)": { passed: 1, failed: 0, skipped: 0 },
    "ok | 0 passed | 0 failed | 3 filtered out (1s)": { passed: 0, failed: 0, skipped: 0 },
  };
  for (const [line, totals] of Object.entries(lines)) assert.deepEqual(parseDenoTotals(line), totals, line);
  assert.equal(parseDenoTotals("a test ... ok (3ms)"), undefined);
});

test("divide() puts every file in one group, returns no empty groups, and moves no file when another is added", () => {
  const files = Array.from({ length: 200 }, (_, at) => `test/lib/file-${at}.test.ts`);
  const groups = divide(files, 4);
  assert.deepEqual(groups.flat().sort(), [...files].sort());
  assert.ok(
    groups.length === 4 && groups.every(({ length }) => length > 25),
    String(groups.map((g) => g.length)),
  );
  const more = divide(["test/a.test.ts", ...files], 4);
  assert.deepEqual(more.map((group) => group.filter((file) => file !== "test/a.test.ts")), groups);
  assert.deepEqual(divide(["a"], 4), [["a"]]);
  assert.deepEqual(divide([], 4), []);
});

test("dependentsOf() follows imports to every file that uses a changed file", () => {
  const imports = new Map([
    ["src/a.ts", ["node:fs"]],
    ["src/b.ts", ["./a.ts"]],
    ["src/c.ts", []],
    ["test/b.test.ts", ["../src/b.ts"]],
    ["test/c.test.ts", ["../src/c.ts"]],
  ]);
  assert.deepEqual(dependentsOf(["src/a.ts", "README.md"], imports), [
    "src/a.ts",
    "src/b.ts",
    "test/b.test.ts",
  ]);
});

test("maySkip() allows what is on its list, and nothing else", () => {
  assert.equal(maySkip("the bundle is ASCII: this is Deno"), true);
  assert.equal(maySkip("a Java program runs: no java on this machine"), false);
});

test("maySkip() allows every reason for which the cluster suite skips a test on an old server", () => {
  const texts = globSync("test/cluster/*.ts", { cwd: checkout }).map((file) =>
    readFileSync(join(checkout, file), "utf8")
  );
  const reasons = texts.flatMap((text) =>
    [...text.matchAll(/\bt\.skip\(`(.*)`\)/g)].map(([, reason]) => reason!)
  );
  assert.ok(reasons.length >= 3, `${reasons}`);
  assert.deepEqual(reasons.filter((reason) => !maySkip(reason)), []);
});

test("planOf() returns every requested suite once, and no others", () => {
  assert.deepEqual(planOf(suiteNames).flat(9).sort(), [...suiteNames].sort());
  assert.deepEqual(planOf(["cluster", "systemd"]), [[["systemd"], ["cluster"]]]);
  assert.deepEqual(planOf(["unit", "guest"]), ["unit", "guest"]);
  assert.deepEqual(planOf([]), []);
});

test("cpusOf() reserves a CPU for measurements while other suites run", () => {
  const lanes = planOf(suiteNames).find((step) => Array.isArray(step) && step.flat(9).includes("caps"));
  const [measured, ...others] = lanes as Lane[];
  assert.equal(measured![0], "caps", "only the suites of other lanes run next to it");
  const beside = (others.flat(9) as SuiteName[]).filter(runsBesideCaps);
  assert.ok(beside.length > 0);
  assert.deepEqual(beside.map((name) => cpusOf(name, [2, 3, 5])), beside.map(() => "3,5"));
  assert.equal(cpusOf("caps", [2, 3, 5]), "2");
  assert.deepEqual(["caps" as const, ...beside].map((name) => cpusOf(name, [0])), [
    undefined,
    ...beside.map(() => undefined),
  ]);
  assert.equal(cpusOf("cluster", [0, 1]), undefined);
});

test("runLanes() runs lanes side by side, each in order, and nothing unpinned while caps measures", async () => {
  const events: string[] = [];
  const ends = new Map(suiteNames.map((name) => [name, Promise.withResolvers<void>()]));
  const run = async (name: SuiteName) => {
    events.push(name);
    await ends.get(name)!.promise;
    return [name];
  };
  /** Lets suites end, and returns those that started after that. */
  const end = async (...names: SuiteName[]) => {
    events.length = 0;
    for (const name of names) ends.get(name)!.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    return [...events].sort();
  };
  const plan: Lane = ["unit", [["caps", "guest"], ["process", "cluster", "chaos"]], "install"];
  const done = runLanes(plan, run);
  assert.deepEqual(await end("unit"), ["caps", "process", "unit"]);
  assert.deepEqual(await end("process"), [], "a cluster would disturb the measurements");
  assert.deepEqual(await end("caps"), ["cluster", "guest"]);
  assert.deepEqual(await end("cluster"), ["chaos"], "a lane does not wait for another");
  assert.deepEqual(await end("guest"), [], "what follows waits for all lanes");
  assert.deepEqual(await end("chaos", "install"), ["install"]);
  assert.deepEqual(await done, ["unit", "caps", "guest", "process", "cluster", "chaos", "install"]);
});

test("allowedCpus() reads single CPUs and ranges", () => {
  const status = (list: string) =>
    `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed:\t1\n`;
  assert.deepEqual(allowedCpus(status("0-1")), [0, 1]);
  assert.deepEqual(allowedCpus(status("2,4-6,9")), [2, 4, 5, 6, 9]);
  assert.deepEqual(allowedCpus(""), []);
});

test("suiteOf() decides by the suffix, then by the folder, and defaults to the unit tests", () => {
  const suites = {
    "test/lib/sleep.test.ts": "unit",
    "test/supervisor/run/enter.process.test.ts": "process",
    "test/guest/agent.test.ts": "guest",
    "test/guest/cgroups-cpu.caps.test.ts": "caps",
    "test/guest/install-openrc.install.test.ts": "install",
    "test/guest/agent.systemd.test.ts": "systemd",
    "test/kube/v1.2.test.ts": "unit",
  };
  for (const [file, suite] of Object.entries(suites)) assert.equal(suiteOf(file), suite, file);
});

test("what touches the runtime runs on Node and Deno, and the rest on Node alone", () => {
  const both = ["supervisor/contract-native.process", "cli/apps.process", "lib/sleep", "new-folder/new"];
  const one = [
    "supervisor/launcher/launcher.process",
    "install/release.process",
    "api/percent",
    "cli/top/update",
  ];
  for (const name of [...both, ...one]) {
    assert.equal(runsOnDeno(`test/${name}.test.ts`), both.includes(name), name);
  }
  const files = runsOf("process").map(({ command }) => command.filter((word) => word.endsWith(".test.ts")));
  assert.deepEqual(files[1], files[0]!.filter(runsOnDeno));
});

test("suiteOf() knows every suffix that a test file has", () => {
  for (const file of globSync("test/**/*.*.test.ts", { cwd: checkout })) {
    assert.ok(file.endsWith(`.${suiteOf(file)}.test.ts`), `${file} has the suffix of no suite`);
  }
});
