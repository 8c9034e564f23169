import assert from "node:assert/strict";
import { test } from "node:test";
import { type Command, UsageError } from "../../src/cli/command.ts";
import type { CommandTable } from "../../src/cli/command-line.ts";
import { commands } from "../../src/cli/commands/commands.ts";
import { parseInvocation } from "../../src/cli/parse-invocation.ts";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import { call as callWith } from "./call.ts";

const echo: Command = {
  operands: "[WORD...]",
  flags: {
    upper: { short: "u", help: "In capitals." },
    prefix: { value: "TEXT", help: "Before each word.", default: "none" },
    also: { list: true, value: "WORD", help: "More." },
  },
  examples: ["nckubelet echo -u hello"],
  async run({ flags, args }, io) {
    if (args[0] === "bad") throw new UsageError("bad is not a word");
    if (args[0] === "broken") throw new Error("it broke", { cause: new Error("inside") });
    io.stdout(JSON.stringify({ flags, args }));
    return 0;
  },
};
const table: CommandTable = { echo: { summary: "Say it again.", load: async () => echo } };

const call = (words: string[]) => callWith(words, { table }).done;

test("a command gets its flags and operands", async () => {
  const { code, stdout } = await call([
    "echo",
    "-u",
    "--prefix=x",
    "--also",
    "a",
    "--also",
    "b",
    "one",
    "--",
    "--two",
  ]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), {
    flags: { upper: true, prefix: "x", also: ["a", "b"] },
    args: ["one", "--two"],
  });
});

test("a mistyped command or flag exits with 2 and a suggestion", async () => {
  const command = await call(["ehco"]);
  assert.deepEqual([command.code, command.stdout], [2, ""]);
  assert.match((await call(["ecko"])).stderr, /unknown command "ecko"; did you mean "echo"\?/);
  assert.match(
    (await call(["echo", "--prefxi", "x"])).stderr,
    /unknown flag --prefxi; did you mean --prefix\?/,
  );
  assert.match((await call(["echo", "--no-upper"])).stderr, /unknown flag --no-upper; use --upper=false/);
  assert.match((await call(["echo", "-x"])).stderr, /^nckubelet: unknown flag -x\n/);
});

test("what docker, kubectl and systemctl have is refused with what to use here", async () => {
  const refused = async (...words: string[]) => (await callWith(words).done).stderr.split("\n")[0];
  assert.match(await refused("ps", "-A") ?? "", /unknown flag -A: it lists the apps of all namespaces/);
  assert.match(await refused("run", "-d", "./x.sh") ?? "", /unknown flag -d: run returns when the app runs/);
  assert.match(
    await refused("run", "--memory", "1g", "./x.sh") ?? "",
    /unknown flag --memory: use --mem PERCENT/,
  );
  const separator = /; if it is for SCRIPT, write -- before it$/;
  assert.match(await refused("run", "./x.sh", "--port", "7000") ?? "", separator);
  assert.match(await refused("run", "--cpu", "5", "./x.sh", "-z") ?? "", separator);
  assert.doesNotMatch(await refused("run", "--cpu", "5", "--port", "./x.sh") ?? "", separator);
  assert.match(await refused("disable", "web") ?? "", /unknown command "disable"; did you mean "stop"\?/);
  assert.match(await refused("run", "./") ?? "", /\.\/ is a folder: name a script/);
  assert.match(
    await refused("apply", "-f", "https://example.com/x.yaml") ?? "",
    /read from files; use curl -fsSL https:\/\/example\.com\/x\.yaml, and -f - to read its output/,
  );
});

test("a flag without its value exits with 2 and says what it needs", async () => {
  const refused = async (...words: string[]) => {
    const { code, stderr } = await callWith(words).done;
    assert.equal(code, 2);
    return stderr.split("\n")[0] ?? "";
  };
  assert.equal(
    await refused("ps", "-o"),
    "nckubelet: --output needs a value: use table, wide, json, yaml or name",
  );
  assert.equal(await refused("apply", "-f"), "nckubelet: --filename needs a value: use --filename FILE");
  assert.equal(
    await refused("logs", "web", "--tail", "-1"),
    'nckubelet: --tail needs a value: write --tail=-1 if "-1" is the value',
  );
  assert.match(
    await refused("ps", "-n", "-o", "json"),
    /^nckubelet: --namespace needs a value: write --namespace=-o /,
  );
});

test("a wrong command line exits with 2, a failure with 1 and its cause", async () => {
  assert.deepEqual(await call(["echo", "bad"]), {
    code: 2,
    stdout: "",
    stderr: "nckubelet: bad is not a word\nSee 'nckubelet echo --help'.\n",
  });
  assert.deepEqual(await call(["echo", "broken"]), {
    code: 1,
    stdout: "",
    stderr: "nckubelet: it broke: inside\n",
  });
});

test("help shows usage, flags with defaults, and examples", async () => {
  const { code, stdout } = await call(["echo", "--help"]);
  assert.equal(code, 0);
  for (
    const part of [
      "Usage: nckubelet echo [flags] [WORD...]",
      "-u, --upper",
      "Default: none.",
      "nckubelet echo -u hello",
    ]
  ) {
    assert.ok(stdout.includes(part), part);
  }
  assert.equal((await call(["help", "echo"])).stdout, stdout);
  assert.match((await call([])).stdout, /echo +Say it again\./);
});

test("a switch may have true or false as its value, and the last one counts", async () => {
  const flagsOf = async (...words: string[]) => JSON.parse((await call(["echo", ...words])).stdout).flags;
  assert.deepEqual(await flagsOf("--upper=true", "--prefix=--upper=false"), {
    upper: true,
    prefix: "--upper=false",
  });
  assert.deepEqual(await flagsOf("-u", "--upper=false"), { upper: false });
  assert.deepEqual(await flagsOf("--upper=false", "--", "--upper=true"), { upper: false });
  assert.deepEqual(await flagsOf("--upper=false", "-u"), { upper: true });
  const { code, stderr } = await call(["echo", "--upper=maybe"]);
  assert.equal(code, 2);
  assert.match(stderr, /--upper "maybe": use true or false/);
});

test("help on an unknown command exits with 2 and a suggestion", async () => {
  for (const word of ["help", "--help", "-h"]) {
    const { code, stdout, stderr } = await call([word, "ecko"]);
    assert.deepEqual([code, stdout], [2, ""], word);
    assert.match(stderr, /unknown command "ecko"; did you mean "echo"\?\nSee 'nckubelet --help'\./);
  }
  const overview = await call([]);
  for (const word of ["help", "--help"]) assert.deepEqual(await call(["help", word]), overview);
});

test("--version prints the same as version, also as a plugin of kubectl", async () => {
  const { stdout } = await callWith(["version"]).done;
  assert.match(stdout, /^nckubelet \d/);
  assert.deepEqual(await callWith(["--version"]).done, { code: 0, stdout, stderr: "" });
  assert.equal((await callWith(["--version"], { table, program: "kubectl ncapp" }).done).stdout, stdout);
  assert.equal((await callWith(["--version", "x"]).done).code, 2);
});

test("every command has a summary, help for each flag, and examples that parse", async () => {
  for (const [table, program] of [[commands, "nckubelet"], [pluginCommands, "kubectl ncapp"]] as const) {
    for (const [name, { summary, load }] of Object.entries(table)) {
      assert.match(summary, /^[A-Z].*\.$/, name);
      const command = await load();
      for (const [flag, { help }] of Object.entries(command.flags)) {
        assert.match(help, /\.$/, `${name} --${flag}`);
      }
      assert.ok(command.examples.length > 0, name);
      for (const example of command.examples) {
        const [, words] = example.split(`${program} ${name}`);
        assert.ok(words !== undefined, example);
        // Up to a pipe, a redirection or another command.
        const own = words.split(/ [|>&]|\)/)[0]!.trim().split(" ").filter(Boolean);
        assert.doesNotThrow(() => parseInvocation(command, own), example);
      }
    }
  }
});

test("operands of a command that takes none exit with 2", async () => {
  const { code, stderr } = await callWith(["version", "now"]).done;
  assert.deepEqual([code, stderr.split("\n")[0]], [2, 'nckubelet: version takes no operands, not "now"']);
});

test("flags may come before the command", async () => {
  const read = async (...words: string[]) => JSON.parse((await call(words)).stdout);
  assert.deepEqual(await read("--prefix", "x", "echo", "one"), { flags: { prefix: "x" }, args: ["one"] });
  assert.deepEqual(await read("-u", "--prefix=x", "echo", "one"), {
    flags: { upper: true, prefix: "x" },
    args: ["one"],
  });
  assert.deepEqual(await read("--prefix", "echo", "echo", "one"), {
    flags: { prefix: "echo" },
    args: ["one"],
  });
  const two = { ...table, say: { summary: "Say it.", load: async () => echo } };
  const { stdout } = await callWith(["--prefix", "say", "echo", "one"], { table: two }).done;
  assert.deepEqual(JSON.parse(stdout), { flags: { prefix: "say" }, args: ["one"] }, "say is a value");
  const unknown = await call(["--perfix", "x", "echo"]);
  assert.deepEqual([unknown.code, unknown.stderr.split("\n")[0]], [
    2,
    "nckubelet: unknown flag --perfix; did you mean --prefix?",
  ]);
  assert.match((await call(["--prefix", "x"])).stderr, /^nckubelet: no command is given, only --prefix\n/);
});

test("words of kubectl, docker and systemctl lead to the command of this program", async () => {
  const meant = {
    list: "ps",
    get: "ps",
    status: "ps",
    rm: "delete",
    inspect: "describe",
    kill: "stop",
    stats: "top",
  };
  for (const [word, command] of Object.entries(meant)) {
    const { code, stderr } = await callWith([word]).done;
    assert.deepEqual([code, stderr.split("\n")[0]], [
      2,
      `nckubelet: unknown command "${word}"; did you mean "${command}"?`,
    ]);
  }
});
