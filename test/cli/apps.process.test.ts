import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { manifest } from "../builders.ts";
import { waitFor } from "../wait-for.ts";
import { startTestAgent, type TestAgent } from "./test-agent.ts";

const forever = 'echo "up $GREETING $*"; exec sleep 600';
describe("commands of a node with an agent", () => {
  let agent: TestAgent;

  before(async () => agent = await startTestAgent());
  after(() => agent[Symbol.asyncDispose]());

  test("an app goes through run, ps, logs, describe, restart, stop, start and delete", async () => {
    const script = await agent.script("web.sh", forever);
    const started = await agent.command("run", script, "-e", "GREETING=hi there", "--", "--port", "80");
    assert.match(started.stdout, /^default\/web is running \(pid \d+\)\n$/);
    await waitFor(
      "its first line",
      async () => (await agent.command("logs", "web")).stdout === "up hi there --port 80\n",
    );

    assert.match((await agent.command("ps")).stdout, /^default +web +Running +True/m);
    assert.match((await agent.command("ps", "-o", "wide")).stdout, /socket +\S+web\.sh$/m);
    assert.equal((await agent.command("ps", "-o", "name")).stdout, "default/web\n");
    assert.equal(
      JSON.parse((await agent.command("ps", "-o", "json")).stdout).items[0].status.phase,
      "Running",
    );
    assert.match((await agent.command("ps", "-o", "yaml", "-n", "default")).stdout, /^ {6}name: web$/m);
    const story = (await agent.command("describe", "web")).stdout;
    for (const part of [/^Phase: +Running$/m, /Arguments: +--port 80$/m, /Environment: +GREETING$/m]) {
      assert.match(story, part);
    }
    const [fields = "", log] = story.split("Log, last lines:\n");
    assert.ok(!fields.includes("hi there"), "values of the environment are not shown");
    assert.equal(log, "  up hi there --port 80\n");

    const again = await agent.command("restart", "default/web");
    assert.match(again.stdout, /is running/);
    assert.notEqual(again.stdout, started.stdout);
    assert.deepEqual(await agent.command("stop", "web"), {
      code: 0,
      stdout: "default/web is stopped; 'nckubelet start web' starts it again\n",
      stderr: "",
    });
    assert.match((await agent.command("ps")).stdout, /web +Stopped +False/);
    assert.match((await agent.command("start", "-n", "default", "web")).stdout, /is running/);
    assert.equal((await agent.command("logs", "--tail", "2", "web")).stdout.split("\n").length, 3);
    assert.equal((await agent.command("delete", "web")).stdout, "default/web is deleted\n");
    assert.equal((await agent.command("ps", "-o", "name")).stdout, "");
  });

  test("run --attach prints the whole log of a script that ends, and exits with its outcome", async () => {
    const good = await agent.script(
      "good.sh",
      "i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo line $i; done",
    );
    const output = await agent.command("run", "--attach", "--restart", "never", good);
    const lines = Array.from({ length: 500 }, (_, index) => `line ${index + 1}\n`).join("");
    assert.deepEqual(output, { code: 0, stdout: lines, stderr: "default/good has succeeded\n" });
    const bad = await agent.script("bad.sh", "echo broken; exit 3");
    const failed = await agent.command("run", "--attach", "--restart", "never", bad);
    assert.deepEqual([failed.code, failed.stdout], [3, "broken\n"]);
    assert.match(
      failed.stderr,
      /default\/bad is Failed: Ended with status 3: Error; see 'nckubelet logs bad'/,
    );
    assert.match(
      (await agent.command("describe", "bad")).stdout,
      /Last exit:\n {2}Code: +3\n(?:.*\n)*? {4}broken\n/,
    );
  });

  test("start runs a script again that has ended", async () => {
    const script = await agent.script("once.sh", "echo once");
    await agent.command("run", "--attach", "--restart", "never", script);
    assert.equal((await agent.command("start", "once")).code, 0);
    await waitFor(
      "its second run",
      async () => (await agent.command("logs", "once")).stdout === "once\nonce\n",
    );
  });

  test("start and restart of an app with a schedule end when it waits for its next run", async () => {
    const shellFile = await agent.script("nightly.sh", "echo ran");
    const spec = { shellFile, schedule: "0 0 1 1 *", timeZone: "Etc/UTC" };
    const file = join(agent.folder, "nightly.json");
    await writeFile(file, JSON.stringify(manifest("nightly", spec)));
    assert.equal((await agent.command("apply", file)).code, 0);
    assert.equal((await agent.command("stop", "nightly")).code, 0);
    for (const verb of ["start", "restart"]) {
      const { code, stdout, stderr } = await agent.command(verb, "nightly");
      assert.deepEqual([code, stderr], [0, ""], verb);
      assert.match(stdout, /^default\/nightly waits for its schedule: next run at \d{4}-01-01T00:00:00Z\n$/);
    }
  });

  test("Ctrl-C in run --attach stops the app and prints how to start it again", async () => {
    const script = await agent.script("attached.sh", forever);
    const ctrlC = new AbortController();
    const { output, done } = agent.begin(["run", "--attach", script], { signal: ctrlC.signal });
    await waitFor("its log", () => output.stdout.includes("up"));
    ctrlC.abort();
    assert.equal((await done).code, 0);
    assert.match(output.stderr, /default\/attached is stopped; 'nckubelet start attached'/);
    assert.match((await agent.command("ps")).stdout, /attached +Stopped/);
  });

  test("logs -f keeps printing until Ctrl-C", async () => {
    const script = await agent.script("ticker.sh", "echo tick; while :; do sleep 0.1; echo tack; done");
    await agent.command("run", script, "--grace", "1");
    const ctrlC = new AbortController();
    const { output, done } = agent.begin(["logs", "-f", "ticker"], { signal: ctrlC.signal });
    await waitFor(
      "more lines",
      () => output.stdout.startsWith("tick\n") && output.stdout.split("tack").length > 2,
    );
    ctrlC.abort();
    assert.equal((await done).code, 0);
  });

  test("errors say what to do instead", async () => {
    const script = await agent.script("known.sh", forever);
    await agent.command("run", script, "-n", "shop");
    for (
      const [words, code, message] of [
        [["logs", "shop/knwn"], 1, /no app shop\/knwn on this node; did you mean shop\/known\?/],
        [["stop", "known"], 1, /no app default\/known on this node; did you mean shop\/known\?/],
        [["describe", "other"], 1, /no app default\/other on this node; 'nckubelet ps' lists/],
        [["delete", "-n", "shop", "nothing"], 1, /no app shop\/nothing/],
        [
          ["run", script, "-n", "shop"],
          1,
          /shop\/known exists already: .*replace it with --replace/,
        ],
        [
          ["run", script.replace("known", "knwn")],
          2,
          /knwn\.sh: no such file; did you mean \S+\/known\.sh\?/,
        ],
        [["run", script, "--name", "capped", "--cpu", "20"], 1, /capped is Pending: cpuPCT 20 cannot be enf/],
        [["run", script, "--cpu", "200"], 2, /--cpu: Invalid value: "200": must be a percentage/],
        [["run"], 2, /no script is named/],
        [["stop"], 2, /no app is named; the command ps lists all apps/],
        [["logs", "--tail", "few", "known"], 2, /--tail "few"/],
        [["logs", "--tail", "1000001", "known"], 2, /--tail "1000001": use a whole number from 0 to 1000000/],
        [["ps", "-o", "xml"], 2, /--output "xml": use table, wide, json, yaml or name/],
        [["ps", "known"], 1, /no app default\/known on this node; did you mean shop\/known\?/],
        [["exec", "known"], 2, /no command is given/],
        [
          ["exec", "shop/known", "--state-dir", "/nowhere", "--", "id"],
          1,
          /shop\/known has no record in \/nowhere: name the agent's folder with --state-dir/,
        ],
      ] as const
    ) {
      const output = await agent.command(...words);
      assert.deepEqual([output.code, output.stdout], [code, ""], words.join(" "));
      assert.match(output.stderr, message);
    }
    const two = await agent.command("stop", "nobody", "shop/known");
    assert.deepEqual([two.code, two.stdout.startsWith("shop/known is stopped")], [1, true]);
  });

  test("apply applies all manifests or none, and reports problems with file, line, field and value", async () => {
    await agent.script("applied.sh", forever);
    const good = join(agent.folder, "good.yaml");
    const bad = join(agent.folder, "bad.yaml");
    const yaml = (name: string, spec: string) =>
      `apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;
    await writeFile(good, yaml("applied", "shellFile: ./applied.sh"));
    await writeFile(bad, `${yaml("one", "")}---\n${yaml("two", "cpuPCT: 200")}`);
    const refused = await agent.command("apply", "-f", good, "-f", bad);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /bad\.yaml:9: default\/two: spec\.cpuPCT: Invalid value: 200.*\n.*nothing was/,
    );
    assert.equal((await agent.command("apply", "-f", good)).stdout, "default/applied created\n");
    assert.equal((await agent.command("apply", good)).stdout, "default/applied unchanged\n");
    assert.match((await agent.command("validate", bad)).stdout, /bad\.yaml: default\/one is valid/);
  });

  test("top prints once into a pipe and refreshes in place on a terminal", async () => {
    const plain = await agent.command("top");
    assert.match(plain.stdout, /^node test-node, agent 0\.0\.0-test/);
    assert.ok(!plain.stdout.includes("\x1b"));
    assert.match((await agent.command("top", "-o", "wide")).stdout, / AGE +PID +SOURCE +SCRIPT$/m);
    const ctrlC = new AbortController();
    const { output, done } = agent.begin(["top", "--interval", "10ms"], {
      columns: 60,
      rows: 5,
      signal: ctrlC.signal,
    });
    await waitFor("three screens", () => output.stdout.split("\x1b[H").length > 3);
    ctrlC.abort();
    assert.equal((await done).code, 0);
    assert.ok(output.stdout.startsWith("\x1b[?1049h") && output.stdout.endsWith("\x1b[?1049l"));
    const [noWrap, wrap] = ["\x1b[?7l", "\x1b[?7h"].map((code) => output.stdout.split(code).length - 1);
    assert.deepEqual([noWrap, wrap], [1, 1], "wrapping is turned off once and on again");
    for (const screen of output.stdout.split("\x1b[H").slice(1)) assert.ok(screen.split("\n").length <= 5);
  });

  test("top -o json prints the same list as ps, once even on a terminal", async () => {
    const names = (text: string) =>
      JSON.parse(text).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    const { code, stdout } = await agent.begin(["top", "-o", "json"], {
      columns: 80,
      env: { NCKUBELET_SOCKET: agent.socket },
      signal: AbortSignal.abort(), // If it were watched, it would end at once and print no JSON.
    }).done;
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).kind, "NCAppList");
    assert.deepEqual(names(stdout).sort(), names((await agent.command("ps", "-o", "json")).stdout).sort());
    assert.match((await agent.command("top", "-o", "yaml")).stdout, /^kind: NCAppList$/m);
    assert.match((await agent.command("top", "-o", "xml")).stderr, /--output "xml": use table, wide, json/);
  });

  test("logs of several apps, of the run before, since a time, and with the times of lines", async () => {
    const script = await agent.script("talk.sh", 'echo "up $0" "$1"; exec sleep 600');
    const manifests = ["left", "right"].map((name) =>
      manifest(name, { shellFile: script, args: [name] }, { namespace: "talk", labels: { side: name } })
    );
    const file = join(agent.folder, "talk.json");
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
    assert.equal((await agent.command("apply", "-f", file)).code, 0);
    const logs = async (...words: string[]) => (await agent.command("logs", "-n", "talk", ...words)).stdout;
    const [left, right] = ["left", "right"].map((name) => `up ${script} ${name}\n`);
    const both = `[left] ${left}[right] ${right}`;
    await waitFor("both have written", async () => await logs("left", "right") === both);
    assert.equal(await logs("-l", "side in (left,right)"), both);
    assert.equal(await logs("-l", "side=right"), right);
    assert.equal(await logs("--all"), both);

    const none = await agent.command("logs", "-p", "talk/left");
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /the log of talk\/left has no run before the current or last one/);
    await agent.command("restart", "talk/left");
    await waitFor("its second run", async () => await logs("left") === `${left}${left}`);
    assert.equal(await logs("--previous", "left"), left);

    const stamped = (await logs("--timestamps", "left")).split("\n").slice(0, 2);
    for (const line of stamped) {
      assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z up \S+ left$/);
    }
    assert.equal(await logs("--since", "1h", "left"), `${left}${left}`);
    const second = stamped[1]!.split(" ")[0]!;
    assert.equal(await logs("--since-time", second, "left"), left);
    assert.equal(await logs("--since-time", "2999-01-01T00:00:00Z", "left"), "");
    assert.equal(await logs("--limit-bytes", "5", "left"), left!.slice(0, 5));
    await agent.command("delete", "talk/left", "talk/right");
  });

  test("colors are only for terminals, unless the user turns them off", async () => {
    const env = { NCKUBELET_SOCKET: agent.socket };
    const on = (more: Record<string, string>) =>
      agent.begin(["ps"], { columns: 80, env: { ...env, ...more } });
    assert.ok((await on({}).done).stdout.includes("\x1b["));
    assert.ok(!(await on({ NO_COLOR: "1" }).done).stdout.includes("\x1b["));
    assert.ok(!(await on({ TERM: "dumb" }).done).stdout.includes("\x1b["));
  });

  const isRoot = process.getuid?.() === 0;
  test(
    "the socket of another user is an error that says what to do",
    { skip: isRoot && "root may open any" },
    async () => {
      const output = await agent.command("ps", "--socket", "/root/agent.sock");
      assert.match(output.stderr, /you may not use the agent's socket .*: try again as root/);
    },
  );
});
