import assert from "node:assert/strict";
import { test } from "node:test";
import { setSpecWith, setWith } from "../set-samples.ts";
import { formatProblem, maxManifestSize, parseManifests } from "../../../src/api/manifest/manifest.ts";
import { appWith } from "../samples.ts";

const head = "apiVersion: app.example.com/v1alpha1\nkind: NCApp\n";
const app = (name: string, spec = "{}") => `${head}metadata: {name: ${name}}\nspec: ${spec}\n`;

function read(text: string, options = {}) {
  const { apps, problems } = parseManifests(text, "apps.yaml", options);
  return {
    names: apps.map((app) => `${app.metadata.namespace}/${app.metadata.name}`),
    problems: problems.map(formatProblem),
  };
}

const skipped = (text: string) => parseManifests(text, "apps.yaml").skipped.map(formatProblem);
const object = (apiVersion: string, kind: string, metadata = "{name: c}") =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: ${metadata}\n`;

test("an app gets its namespace and defaults", () => {
  const { apps: [found], problems } = parseManifests(
    app("web", "{shellFile: /x, livenessProbe: {tcpSocket: {port: 1}}}"),
    "f",
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(found!.metadata, { namespace: "default", name: "web" });
  assert.equal(found!.spec.restartPolicy, "Always");
  assert.equal(found!.spec.pidsMax, 4096);
  assert.equal(found!.spec.livenessProbe?.periodSeconds, 10);
  assert.equal(found!.spec.cpuPCT, undefined);
});

test("a manifest of either version is the same app, so that a change of the version restarts nothing", () => {
  const parse = (version: string) =>
    parseManifests(app("web", "{shellFile: /x}").replace("v1alpha1", version), "f");
  const [alpha, beta] = [parse("v1alpha1"), parse("v1beta1")];
  assert.deepEqual(beta, alpha);
  assert.deepEqual([beta.apps.length, beta.apps[0]?.apiVersion], [1, "app.example.com/v1alpha1"]);
  const set = { ...setWith(setSpecWith()), apiVersion: "app.example.com/v1beta1" };
  assert.equal(parseManifests(JSON.stringify(set), "f", { checkSets: true }).sets.length, 1);
});

test("an NCAppPolicy in a file is for a cluster: it is skipped", () => {
  assert.match(
    skipped(object("app.example.com/v1beta1", "NCAppPolicy")).join(),
    /NCAppPolicy "c" needs a cluster/,
  );
});

test("documents, Lists and JSON may hold many apps", () => {
  assert.deepEqual(read(`# two\n---\n${app("a")}---\n\n---\n# none\n---\n${app("b")}...\n`).names, [
    "default/a",
    "default/b",
  ]);
  const items = [appWith({}, { name: "a" }), appWith({}, { name: "b", namespace: "team" })];
  assert.deepEqual(read(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, "\t")).names, [
    "default/a",
    "team/b",
  ]);
  assert.deepEqual(read("\uFEFF" + JSON.stringify(items[1], null, "\t")).names, ["team/b"]);
  const list = { apiVersion: "app.example.com/v1alpha1", kind: "NCAppList", items };
  assert.deepEqual(read(JSON.stringify(list), { namespace: "edge" }).names, ["edge/a", "team/b"]);
  assert.deepEqual(read(`%YAML 1.2\n---\n${app("a")}`), { names: ["default/a"], problems: [] });
  assert.deepEqual(read("").names, []);
  assert.deepEqual(read("# nothing\n"), { names: [], problems: [] });
});

test("a broken document is reported with its line and does not affect the others", () => {
  const text = `${app("a")}---\nspec: {shellFile: [\n---\n${app("b")}---\nkey: 1\nkey: 2\n---\n${
    app("c", "{cpuPCT: '200'}")
  }`;
  const { names, problems } = read(text);
  assert.deepEqual(names, ["default/a", "default/b"]);
  assert.equal(problems.length, 3);
  assert.match(problems[0]!, /^apps\.yaml:[67]: not YAML: /);
  assert.match(problems[1]!, /^apps\.yaml:1[45]: not YAML: .*given twice/);
  assert.match(
    problems[2]!,
    /^apps\.yaml:19: default\/c: spec\.cpuPCT: Invalid value: "200": must be a percentage/,
  );
});

test("a problem carries origin, line, app and field for programs", () => {
  const { problems: [problem] } = parseManifests(`${app("a")}---\n${app("b", "{cpuPCT: abc}")}`, "b.yaml");
  const { message: _, ...rest } = problem!;
  assert.deepEqual(rest, {
    origin: "b.yaml",
    line: 9,
    app: "default/b",
    field: "spec.cpuPCT",
  });
});

test("objects of other kinds are named and skipped without a problem", () => {
  const others = [
    object("v1", "Namespace"),
    object("apps/v1", "Deployment", "{name: d, namespace: x}"),
    object("rbac.authorization.k8s.io/v1", "RoleBinding"),
    object("monitoring.coreos.com/v1alpha1", "App"),
  ];
  const text = [app("a"), ...others, app("b")].join("---\n");
  assert.deepEqual(read(text), { names: ["default/a", "default/b"], problems: [] });
  assert.deepEqual(skipped(text), [
    'apps.yaml:5: Namespace "c" (v1) is not an NCApp of app.example.com/v1alpha1; skipped',
    'apps.yaml:9: Deployment "d" (apps/v1) is not an NCApp of app.example.com/v1alpha1; skipped',
    'apps.yaml:13: RoleBinding "c" (rbac.authorization.k8s.io/v1) is not an NCApp of app.example.com/v1alpha1; skipped',
    'apps.yaml:17: App "c" (monitoring.coreos.com/v1alpha1) is not an NCApp of app.example.com/v1alpha1; skipped',
  ]);
  const list = {
    apiVersion: "v1",
    kind: "List",
    items: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }],
  };
  assert.deepEqual([read(JSON.stringify(list)).problems, skipped(JSON.stringify(list)).length], [[], 1]);
});

test("a possible NCApp or list of NCApps is a problem and is not skipped", () => {
  const doubtful = [
    object("app.example.com/v1alpha1", "NCJob"),
    object("app.example.com/v2", "NCApp"),
    object("app.exmaple.com/v1alpha1", "Thing"),
    object("apps/v1", "NCApp"),
    object("v1", "NCAp"),
    object("v1alpha1", "ncapp"),
    object("v1", "configmap"),
    object("V1", "ConfigMap"),
    object("1", "ConfigMap"),
    object("v1", "ConfigMap", "{}"),
    object("v1", "ConfigMap", "{name: 1}"),
    object("v1", "ConfigMap", ""),
    object("v1", "List") + "items: null\n",
    object("v1", "ConfigMapList") + "items: []\n",
    "apiVersion: app.example.com/v1alpha1\nkind: NCAppList\n",
    "apiVersion: v1\nkind: Status\nmetadata: {}\nstatus: Failure\ncode: 403\n",
    "kind: ConfigMap\nmetadata: {name: c}\n",
    "apiVersion: v1\nmetadata: {name: c}\n",
  ];
  for (const text of doubtful) {
    const { names, problems } = read(`${text}---\n${app("a")}`);
    assert.deepEqual([names, problems.length, skipped(text)], [["default/a"], 1, []], text);
    assert.doesNotMatch(problems[0]!, /skipped/, text);
  }
});

test("non-objects and other versions are reported", () => {
  const text =
    `apiVersion: v1\nkind: List\nmetadata: {name: c}\n---\n${app("a")}---\n- 1\n---\nfoo: bar\n---\n` +
    `apiVersion: app.example.com/v2\nkind: NCApp\nmetadata: {name: d}\n`;
  assert.deepEqual(read(text), {
    names: ["default/a"],
    problems: [
      'apps.yaml:1: List "c" (v1) is not an NCApp of app.example.com/v1alpha1',
      "apps.yaml:10: [1] is not a Kubernetes object",
      "apps.yaml:12: has no apiVersion: for an app, write apiVersion: app.example.com/v1alpha1",
      'apps.yaml:14: unknown apiVersion "app.example.com/v2": use app.example.com/v1alpha1 or app.example.com/v1beta1',
    ],
  });
});

test("a copy with hidden secrets is a problem of that field", () => {
  assert.deepEqual(read(app("a", "{env: [{name: KEY, value: (set on the node)}]}")), {
    names: [],
    problems: [
      "apps.yaml:4: default/a: spec.env[0].value: Invalid value: (set on the node): is the placeholder of the " +
      'hidden value of "KEY": write the value',
    ],
  });
});

test("a duplicate name counts once", () => {
  assert.deepEqual(read(`${app("a", "{shellFile: /1}")}---\n${app("a", "{shellFile: /2}")}`), {
    names: ["default/a"],
    problems: ["apps.yaml:6: default/a: is already defined at line 1; ignoring this one"],
  });
});

test("YAML is parsed as kubectl parses it", () => {
  const text = `base: &base {oomPolicy: Process}\n`;
  const spec = `\n  suspend: yes\n  cpuPCT:\n  <<: {oomPolicy: Process}\n  args: ["yes", '1']`;
  const { apps: [found], problems } = parseManifests(app("a", spec), "f");
  assert.deepEqual(problems, []);
  assert.equal(found!.spec.suspend, true);
  assert.equal(found!.spec.oomPolicy, "Process");
  assert.deepEqual(found!.spec.args, ["yes", "1"]);
  assert.ok(!("cpuPCT" in found!.spec));
  assert.equal(parseManifests(text, "f").problems.length, 1);
});

test("aliases work, but neither explode nor form cycles", () => {
  assert.deepEqual(read(app("a", "{args: [&x hello, *x]}")).names, ["default/a"]);
  const levels = Array.from(
    { length: 20 },
    (_, i) => `k${i}: &l${i} [${Array(9).fill(i ? `*l${i - 1}` : "x").join(",")}]`,
  );
  const long = `a: &a ${"x".repeat(100_000)}\nb: [${Array(50).fill("*a").join(",")}]`;
  for (const bomb of [levels.join("\n"), "&x [*x]", "&x {a: *x}", long]) {
    const { names, problems } = read(`${bomb}\n---\n${app("a")}`);
    assert.deepEqual(names, ["default/a"]);
    assert.match(problems[0]!, /^apps\.yaml:1: too large: aliases expand it beyond 1048576 characters$/);
  }
});

test("deep nesting and long texts are rejected", () => {
  assert.match(read(`a: ${"[".repeat(5_000)}${"]".repeat(5_000)}`).problems[0]!, /nesting exceeded/);
  assert.match(read(`${"[".repeat(200_000)}`).problems[0]!, /not YAML/);
  const deep = `{"apiVersion": "v1", "kind": "x", "a": ${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
  assert.equal(read(deep).problems.length, 1);
  assert.match(
    read("# " + "x".repeat(maxManifestSize)).problems[0]!,
    /too large: 1048578 bytes, at most 1048576 are allowed/,
  );
});

test("paths that start with ./ are relative to the folder of the file, if there is one", () => {
  const text = app("a", "{shellFile: ./scripts/a.sh, stopFile: ./stop.sh, workingDir: /srv}");
  const { apps: [found] } = parseManifests(text, "f", { baseDir: "/etc/apps" });
  assert.equal(found!.spec.shellFile, "/etc/apps/scripts/a.sh");
  assert.equal(found!.spec.stopFile, "/etc/apps/stop.sh");
  assert.equal(found!.spec.workingDir, "/srv");
  assert.deepEqual(parseManifests(text, "f").problems.map(({ field }) => field), [
    "spec.shellFile",
    "spec.stopFile",
  ]);
  for (const path of ["a.sh", "../a.sh", ".hidden"]) {
    const { problems } = parseManifests(app("a", `{shellFile: ${path}}`), "f", { baseDir: "/etc/apps" });
    assert.deepEqual(problems.map(({ field }) => field), ["spec.shellFile"], path);
  }
});

test("a status, a null and CRLF line endings are accepted", () => {
  const text =
    `${head}metadata: {name: a, namespace: null, creationTimestamp: null}\nspec:\n  env:\nstatus: {phase: Running}\n`;
  const { apps: [found] } = parseManifests("\uFEFF" + text.replaceAll("\n", "\r\n"), "f");
  assert.deepEqual(found!.metadata, { namespace: "default", name: "a" });
  assert.ok(!("status" in found!) && !("env" in found!.spec));
});

test("mistakes of users of Pods are answered with what to write", () => {
  const message = (spec: string) => read(app("a", spec)).problems.join();
  assert.match(
    message("{command: [sh]}"),
    /spec\.command: Unknown field: use shellFile for the script and args/,
  );
  assert.match(message("{resources: {}}"), /spec\.resources: Unknown field: use cpuPCT and memPCT/);
  assert.match(message("{memPCT: 512Mi}"), /"512Mi": is an amount, but caps are shares of the node/);
  assert.match(
    message("{env: [{name: A, value: 8080}]}"),
    /\(not shown\): must be a string, not a number: quote it/,
  );
  assert.match(message("{env: [{name: A, value: true}]}"), /must be a string, not a boolean: quote it/);
  assert.match(read(app("a").replace("NCApp", "NcApp")).problems.join(), /did you mean kind: NCApp\?$/);
});

test("what is wrong with YAML is said in words of its author", () => {
  for (
    const [text, meaning] of [
      ["a:\n\tb: 1", /indented with a tab: use spaces/],
      ["spec\n  a: 1", /a colon is missing/],
      ["a: [1, 2", /closing bracket is missing/],
      ["a: 'x", /a quote is not closed on this line/],
      ["a: 1\na: 2", /given twice/],
      ["a: 1\n b: 2", /indentation|colon/],
      ["a: *x", /has no anchor/],
    ] as const
  ) {
    assert.match(read(text).problems.join(), meaning, text);
  }
});

test("a quote that is not closed is reported on its own line, a field that is given twice by its name", () => {
  const head = app("a").trimEnd() + "\n";
  for (
    const [fields, problem] of [
      ['x:\n  a: "one\n  b: 2\n  c: 3\n', "f.yaml:6: not YAML: a quote is not closed on this line"],
      ["x:\n  a: 'one\n", "f.yaml:6: not YAML: a quote is not closed on this line"],
      ['x:\n  a: ["one]\n  b: "fine"\n', "f.yaml:6: not YAML: a quote is not closed on this line"],
      ["x:\n  a: [one\n  b: 2\n", /f.yaml:7: not YAML: .*bracket/],
      ["x:\n  it: isn't\n  a: [one\n  b: 2\n", /f.yaml:8: not YAML: .*bracket/],
      ["x: 1\nx: 2\n", 'f.yaml:6: not YAML: the field "x" is given twice: keep one'],
      ["x: {a: 1, 'a': 2}\n", 'f.yaml:5: not YAML: the field "a" is given twice: keep one'],
    ] as const
  ) {
    const [found = ""] = parseManifests(head + fields, "f.yaml").problems.map(formatProblem);
    if (typeof problem === "string") assert.equal(found, problem, fields);
    else assert.match(found, problem, fields);
  }
});

test("an NCAppSet is skipped, since it needs a cluster; validate checks it", () => {
  const set = (spec: object) => JSON.stringify(setWith(spec, { name: "web" }));
  assert.deepEqual(skipped(set(setSpecWith())), [
    'apps.yaml:1: NCAppSet "web" needs a cluster: apply it with kubectl; skipped',
  ]);
  const checked = (spec: object) => parseManifests(set(spec), "f", { checkSets: true });
  assert.deepEqual(checked(setSpecWith()).sets, ["default/web"]);
  const { sets, problems } = checked(setSpecWith({ replicas: -1 }));
  assert.deepEqual([sets, problems.map(({ app, field }) => [app, field])], [[], [[
    "default/web",
    "spec.replicas",
  ]]]);
});

test("an NCApp of another group is a problem with the apiVersion to use", () => {
  const { problems } = parseManifests("apiVersion: apps/v1\nkind: NCApp\nmetadata: {name: c}\n", "x.yaml");
  assert.match(problems.map(formatProblem).join(), /did you mean apiVersion: app\.example\.com\/v1alpha1\?$/);
});

test("no pattern of the schema is shown to users", () => {
  const text = JSON.stringify({
    ...appWith({ livenessProbe: { httpGet: { path: "health", port: 80, host: "http://x" } } }),
  });
  const shown = parseManifests(text, "x.json").problems.map(formatProblem).join("\n");
  assert.match(shown, /httpGet\.path: .*must start with a slash and have no spaces/);
  assert.match(shown, /httpGet\.host: .*must be a host name or address, without scheme, port or path/);
});
