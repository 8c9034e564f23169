import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { showSpec } from "../../../src/api/shown-spec.ts";
import { manifest } from "../../builders.ts";
import { startTestAgent, type TestAgent } from "../test-agent.ts";

const head = "apiVersion: app.example.com/v1alpha1\nkind: NCApp\n";
const config = "apiVersion: v1\nkind: Namespace\nmetadata: {name: settings}\n";

describe("apply on a node with an agent", () => {
  let agent: TestAgent;

  before(async () => agent = await startTestAgent());
  after(() => agent[Symbol.asyncDispose]());

  const write = async (name: string, text: string) => {
    const path = join(agent.folder, name);
    await writeFile(path, text);
    return path;
  };
  const writeApp = (name: string, spec: NCAppSpec) =>
    write(`${name}.json`, JSON.stringify(manifest(name, { terminationGracePeriodSeconds: 1, ...spec })));

  test("objects of other kinds are reported and skipped, and the apps are applied", async () => {
    const file = await write("mixed.yaml", `${config}---\n${head}metadata: {name: mixed}\nspec: {}\n`);
    assert.deepEqual(await agent.command("apply", "-f", file), {
      code: 0,
      stdout: "default/mixed created\n",
      stderr: `${file}:1: Namespace "settings" (v1) is not an NCApp of app.example.com/v1alpha1; skipped\n`,
    });
  });

  test("manifests without an NCApp are an error", async () => {
    const output = await agent.command("apply", "-f", await write("config.yaml", config));
    assert.deepEqual([output.code, output.stdout], [1, ""]);
    assert.match(output.stderr, /; skipped\nnckubelet: nothing was applied: there is no NCApp\n$/);
  });

  test("the mirror of an app is refused, and the app keeps its values", async () => {
    const spec = { shellFile: "", env: [{ name: "PASSWORD", value: "hunter2" }] };
    assert.equal((await agent.command("apply", "-f", await writeApp("secretive", spec))).code, 0);
    const kept = join(agent.stateDir, "socket-apps", "default_secretive.json");
    const before = await readFile(kept, "utf8");

    const mark = { namespace: "default", annotations: { [annotations.mirror]: "node-a/0" } };
    const mirror = JSON.stringify(manifest("secretive", showSpec(spec), mark));
    async function* stdin() {
      yield new TextEncoder().encode(mirror);
    }
    const output = await agent.begin(["apply", "-f", "-"], { stdin }).done;
    assert.deepEqual([output.code, output.stdout], [1, ""]);
    const [first, second, last] = output.stderr.split("\n");
    assert.match(
      first!,
      /default\/secretive: metadata\.annotations\[app\.example\.com\/config\.mirror\]: .*mirror of an app/,
    );
    assert.match(second!, /default\/secretive: spec\.env\[0\]\.value: .*"PASSWORD"/);
    assert.equal(last, "nckubelet: nothing was applied");
    assert.equal(await readFile(kept, "utf8"), before);
    assert.match(before, /hunter2/);
  });

  const script = (body: string) => agent.script(`${crypto.randomUUID()}.sh`, body);
  test("apply says what changed, what restarts, and with --dry-run changes nothing", async () => {
    const shellFile = await script("exec sleep 600");
    const apply = async (spec: NCAppSpec, ...flags: string[]) =>
      (await agent.command("apply", "-f", await writeApp("said", { shellFile, ...spec }), ...flags)).stdout;
    assert.equal(await apply({}, "--dry-run"), "default/said created (dry run)\n");
    assert.match((await agent.command("describe", "said")).stderr, /no app default\/said/);
    assert.match(
      await apply({}, "--wait"),
      /^default\/said created\ndefault\/said is running \(pid \d+\)\n$/,
    );
    assert.equal(await apply({}), "default/said unchanged\n");
    assert.equal(await apply({ pidsMax: 99 }), "default/said configured\n");
    const edit = { pidsMax: 99, args: ["x"] };
    assert.equal(await apply(edit, "--dry-run"), "default/said configured; it restarts (dry run)\n");
    assert.match(
      await apply(edit, "--wait"),
      /^default\/said configured; it restarts\ndefault\/said is running/,
    );
    assert.match(
      await apply({ ...edit, suspend: true }, "--wait"),
      /^default\/said configured\ndefault\/said is suspended, as its spec asks\n$/,
    );
    assert.match(await apply(edit, "--wait"), /^default\/said configured\ndefault\/said is running/);
    await agent.command("stop", "said");
    assert.match(
      await apply(edit),
      /^default\/said unchanged; it stays stopped until 'nckubelet start said'\n$/,
    );
  });

  test("diff shows the lines that differ and exits with 1, and 0 if none does", async () => {
    const shellFile = await script("exec sleep 600");
    const secret = [{ name: "PASSWORD", value: "hunter2" }];
    await agent.command(
      "apply",
      "--wait",
      "-f",
      await writeApp("shown", { shellFile, args: ["a"], env: secret }),
    );
    const diff = async (spec: NCAppSpec) =>
      await agent.command("diff", "-f", await writeApp("shown", { shellFile, ...spec }));
    assert.deepEqual(await diff({ args: ["a"], env: secret }), { code: 0, stdout: "", stderr: "" });
    const { code, stdout } = await diff({ args: ["b"], env: secret });
    assert.equal(code, 1);
    assert.match(stdout, /^--- default\/shown on this node\n\+\+\+ .*\n(?:.*\n)*- {4}- a\n\+ {4}- b\n/);
    assert.match(stdout, /\(default\/shown would restart\)\n$/);
    const hidden = await diff({ args: ["a"], env: [{ name: "PASSWORD", value: "hunter3" }] });
    assert.deepEqual([hidden.code, hidden.stdout.includes("hunter")], [1, false]);
    assert.match(hidden.stdout, /only values that are not shown differ/);
  });

  test("apply --wait exits with 1 if an app cannot start, fails, or is not ready in time", async () => {
    const cases: [NCAppSpec, RegExp][] = [
      [{ shellFile: "/no/such/script.sh" }, /is Pending: /],
      [
        {
          shellFile: await script("exec sleep 600"),
          readinessProbe: { exec: { command: ["false"] }, periodSeconds: 1 },
        },
        /is running .*, but not ready after 2 s/,
      ],
    ];
    for (const [index, [spec, message]] of cases.entries()) {
      const file = await writeApp(`waited-${index}`, spec);
      const { code, stderr } = await agent.command("apply", "-f", file, "--wait", "--timeout", "2s");
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
  });

  test("apply warns about another node's name and about a taken host port, which /status reports", async () => {
    const apply = async (name: string, spec: NCAppSpec) =>
      (await agent.command("apply", "-f", await writeApp(name, spec))).stderr;
    assert.equal(await apply("first", { ports: [{ port: 8080 }] }), "");
    assert.match(
      await apply("second", { ports: [{ port: 8080 }], nodeName: "node-b" }),
      /^warning: default\/second: spec\.nodeName is "node-b", but this node is "test-node": it runs here\nwarning: default\/second: port 8080\/TCP is wanted by default\/first and default\/second/,
    );
  });

  test("a run that cannot start leaves nothing behind, unless it is asked to", async () => {
    const capped = await agent.script("capped.sh", "exec sleep 600");
    const refused = await agent.command("run", capped, "--cpu", "20");
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /is Pending: cpuPCT 20 cannot be enforced.*\nnckubelet: default\/capped was removed; --keep/,
    );
    assert.doesNotMatch(refused.stderr, /; see 'nckubelet/, "there is nothing to see of an app that is gone");
    assert.match((await agent.command("ps", "capped")).stderr, /no app default\/capped/);
    assert.equal((await agent.command("run", capped, "--cpu", "20", "--keep")).code, 1);
    assert.match((await agent.command("ps", "capped")).stdout, /LimitsUnavailable|cannot be enforced/);
  });
});
