import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { checkImports, checkRooms, checkUses } from "../../tools/check/import-rules.ts";
import { checkout } from "../../tools/checkout.ts";
import { readImports } from "../../tools/import-graph.ts";
import { tempFolder } from "../temp-folder.ts";

function check(sources: Record<string, string>): string[] {
  using temp = tempFolder();
  write(temp.path, sources);
  const imports = readImports(temp.path, Object.keys(sources));
  return checkImports(imports, ["hono", "@hono/node-server", "undici"]);
}

function write(folder: string, files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

/** What `deno lint` has against the sources, by the rules of the project alone. */
function lint(sources: Record<string, string>): string[] {
  using temp = tempFolder();
  const plugins = [join(checkout, "tools/check/lint-plugin.ts")];
  const config = { lint: { plugins, rules: { tags: [], include: ["house/runtime"] } } };
  write(temp.path, { ...sources, "deno.json": JSON.stringify(config) });
  const deno = join(checkout, "node_modules/.bin/deno");
  const { stdout } = spawnSync(deno, ["lint", "--json", "."], { cwd: temp.path, encoding: "utf8" });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; message: string }[] };
  return diagnostics.map(({ filename, message }) => `${filename.split(`${temp.path}/`)[1]} ${message}`);
}

test("checkImports() accepts imports of lower layers, of the same folder, and of dependencies", () => {
  const complaints = check({
    "src/main.ts": 'import { run } from "./cli/command-line.ts"; run(process.argv, process.env);',
    "src/cli/command-line.ts":
      'import { a } from "../lib/a.ts"; const load = () => import("../agent/agent.ts");',
    "src/agent/agent.ts": 'import { plan } from "../sync/plan.ts"; import fs from "node:fs";',
    "src/sync/plan.ts": 'import type { B } from "./b.ts"; import { mod } from "../../cgroups/mod.ts";',
    "src/sync/b.ts": 'import { serve } from "@hono/node-server"; import deep from "undici/lib/agent.js";',
    "src/lib/a.ts": 'import manifest from "../../package.json" with { type: "json" };',
    "cgroups/mod.ts": 'export * from "./cpu.ts";',
    "cgroups/cpu.ts": 'import { join } from "node:path";',
  });
  assert.deepEqual(complaints, []);
});

test("checkImports() refuses an import of a higher layer, even of a type", () => {
  assert.deepEqual(check({ "src/lib/a.ts": 'import type { B } from "../kube/b.ts";', "src/kube/b.ts": "" }), [
    'src/lib/a.ts imports "../kube/b.ts": src/kube is above src/lib',
  ]);
});

test("checkImports() refuses siblings of one layer", () => {
  assert.deepEqual(check({ "src/report/a.ts": 'export { b } from "../node/b.ts";', "src/node/b.ts": "" }), [
    'src/report/a.ts imports "../node/b.ts": src/report and src/node are of one layer; let the wiring pass one to the other',
  ]);
});

test("checkImports() keeps cgroups/ apart from the rest and from packages", () => {
  const [own, foreign] = check({
    "cgroups/a.ts": 'import { x } from "../src/lib/x.ts";\nimport hono from "hono";',
    "src/lib/x.ts": "",
  });
  assert.match(own ?? "", /cgroups\/ stands on its own/);
  assert.match(foreign ?? "", /cgroups\/ uses modules of Node only/);
});

test("checkImports() refuses a missing ending, an unknown file, a package that is no dependency, and a bare built-in", () => {
  const complaints = check({
    "src/lib/a.ts":
      'import "./b"; import { c } from "./c.ts"; import left from "left-pad"; import fs from "fs";',
  });
  assert.deepEqual(complaints, [
    'src/lib/a.ts imports "./b": write the .ts ending',
    'src/lib/a.ts imports "./c.ts": there is no such file in src/ or cgroups/',
    'src/lib/a.ts imports "left-pad": it is not among the dependencies in package.json',
    'src/lib/a.ts imports "fs": it is not among the dependencies in package.json',
  ]);
});

test("checkImports() lets rooms reach each other through their main files only", () => {
  const complaints = check({
    "src/supervisor/logs/logs.ts": 'export { readLog } from "./reader.ts";',
    "src/supervisor/logs/reader.ts": 'import type { App } from "../types.ts";',
    "src/supervisor/types.ts": "",
    "src/supervisor/run/run.ts": 'import { readLog } from "../logs/logs.ts";',
    "src/server/routes/logs.ts": 'import { readLog } from "../../supervisor/logs/reader.ts";',
    "src/cli/doctor/doctor.ts": 'import { findMount } from "../../../cgroups/mounts.ts";',
    "cgroups/mounts.ts": "",
  });
  assert.deepEqual(complaints, [
    'src/server/routes/logs.ts imports "../../supervisor/logs/reader.ts": it belongs to another room; use what src/supervisor/logs/logs.ts exports',
    'src/cli/doctor/doctor.ts imports "../../../cgroups/mounts.ts": it belongs to another room; use what cgroups/mod.ts exports',
  ]);
});

test("checkUses() lets only the tests of a room, and fuzz targets, reach inside it", () => {
  const inside = ["../../../src/supervisor/logs/reader.ts", "../../../cgroups/mounts.ts"];
  const users = [
    "test/supervisor/logs/reader.test.ts",
    "test/fuzz/targets/logs.ts",
    "test/cgroups/locate/a.ts",
  ];
  assert.deepEqual(
    checkUses(new Map(users.map((file, at) => [file, inside.slice(at === 2 ? 1 : 0, at + 1)]))),
    [],
  );
  assert.deepEqual(
    checkUses(new Map([["test/server/routes/logs.test.ts", ["../../../src/lib/a.ts", ...inside]]])),
    [
      'test/server/routes/logs.test.ts imports "../../../src/supervisor/logs/reader.ts": it belongs to a room; use what src/supervisor/logs/logs.ts exports',
      'test/server/routes/logs.test.ts imports "../../../cgroups/mounts.ts": it belongs to a room; use what cgroups/mod.ts exports',
    ],
  );
});

test("checkImports() names a cycle with its whole path, once", () => {
  const complaints = check({
    "src/lib/a.ts": 'import "./b.ts";',
    "src/lib/b.ts": 'import "./c.ts";',
    "src/lib/c.ts": 'import "./a.ts";',
  });
  assert.deepEqual(complaints, ["import cycle: src/lib/a.ts → src/lib/b.ts → src/lib/c.ts → src/lib/a.ts"]);
});

test("lint allows environment, arguments and signals in the entry point only", () => {
  const complaints = lint({
    "src/main.ts": 'process.on("SIGTERM", stop); process.env.A;',
    "src/lib/a.ts": 'process.env.HOME;\nprocess . argv;\nprocess.once("SIGINT", stop);\nprocess.pid;',
  });
  assert.deepEqual(complaints.map((line) => /^src\/lib\/a\.ts uses (process\.\w+)/.exec(line)?.[1]), [
    "process.env",
    "process.argv",
    "process.once",
  ]);
});

test("lint refuses Deno's own functions, but not the word in a comment or a string", () => {
  assert.deepEqual(lint({ "src/lib/a.ts": 'Deno.exit(1); // Deno.exit\nconst a = "Deno.exit";' }), [
    "src/lib/a.ts uses Deno: only what Node has too",
  ]);
});

test("checkRooms() names a room with too many files and a file with too few lines", () => {
  const files = Array.from({ length: 17 }, (_, at) => [`src/kube/watch/file-${at}.ts`, 20] as const);
  assert.deepEqual(checkRooms(new Map(files.slice(1))), []);
  assert.deepEqual(checkRooms(new Map([...files, ["src/kube/short.ts", 7], ["src/kube/enough.ts", 8]])), [
    "rooms: src/kube/watch has 17 files, more than 16: divide it",
    "rooms: src/kube/short.ts has 7 lines, fewer than 8: move them to the file that uses them",
  ]);
});

test("checkImports() names a file that is in no layer", () => {
  assert.throws(
    () => check({ "src/new/a.ts": 'import "./b.ts";', "src/new/b.ts": "" }),
    /src\/new\/a\.ts is in none/,
  );
});

test("readImports() is not misled by comments, templates and regular expressions", () => {
  const source = [
    '// import "comment-1";',
    '/* import "comment-2"; */',
    'const text = `import "template"; ${ load(`${1}`, () => import("./real-1.ts")) } import "template-2";`;',
    'const pattern = /["`]\\/[/"]/; import real from "./real-2.ts";',
    'const half = a / b; const other = c / d; export * as all from "./real-3.ts";',
    "import {\n  type A,\n  b as c,\n} from './real-4.ts';",
  ].join("\n");
  using temp = tempFolder();
  write(temp.path, { "a.ts": source });
  const imports = readImports(temp.path, ["a.ts"]).get("a.ts") ?? [];
  assert.deepEqual(imports.sort(), ["./real-1.ts", "./real-2.ts", "./real-3.ts", "./real-4.ts"]);
});
