import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import { showSpec } from "../../../src/api/shown-spec.ts";
import { startTestAgent, type TestAgent } from "../test-agent.ts";

const head = "apiVersion: app.example.com/v1alpha1\nkind: NCApp\n";
const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

describe("apply on a node with an agent", () => {
  let agent: TestAgent;

  before(async () => agent = await startTestAgent());
  after(() => agent[Symbol.asyncDispose]());

  const write = async (name: string, text: string) => {
    const path = join(agent.folder, name);
    await writeFile(path, text);
    return path;
  };

  test("objects of other kinds are reported and skipped, and the apps are applied", async () => {
    const file = await write("mixed.yaml", `${config}---\n${head}metadata: {name: mixed}\nspec: {}\n`);
    assert.deepEqual(await agent.command("apply", "-f", file), {
      code: 0,
      stdout: "default/mixed created\n",
      stderr: `${file}:1: ConfigMap "settings" (v1) is not an NCApp of app.example.com/v1alpha1; skipped\n`,
    });
  });

  test("manifests without an NCApp are an error", async () => {
    const output = await agent.command("apply", "-f", await write("config.yaml", config));
    assert.deepEqual([output.code, output.stdout], [1, ""]);
    assert.match(output.stderr, /; skipped\nnckubelet: nothing was applied: there is no NCApp\n$/);
  });

  test("an object that is almost an NCApp stops the whole apply", async () => {
    const slip = `${head.replace("v1alpha1", "v1")}metadata: {name: slip}\nspec: {}\n`;
    const file = await write(
      "slip.yaml",
      `${config}---\n${slip}---\n${head}metadata: {name: good}\nspec: {}\n`,
    );
    const output = await agent.command("apply", "-f", file);
    assert.deepEqual([output.code, output.stdout], [1, ""]);
    assert.match(
      output.stderr,
      /slip\.yaml:4: unknown apiVersion "app\.example\.com\/v1".*\n.*nothing was applied\n$/,
    );
  });

  test("the mirror of an app is refused, and the app keeps its values", async () => {
    const spec = { shellFile: "", env: [{ name: "PASSWORD", value: "hunter2" }] };
    const app = {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name: "secretive" },
      spec,
    };
    const manifest = await write("secretive.json", JSON.stringify(app));
    assert.equal((await agent.command("apply", "-f", manifest)).code, 0);
    const kept = join(agent.stateDir, "socket-apps", "default_secretive.json");
    const before = await readFile(kept, "utf8");

    const metadata = {
      name: "secretive",
      namespace: "default",
      annotations: { [annotations.mirror]: "node-a/0" },
    };
    const mirror = JSON.stringify({ ...app, metadata, spec: showSpec(spec) });
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
});
