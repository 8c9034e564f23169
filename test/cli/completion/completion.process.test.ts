import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { visibleCommands } from "../../../src/cli/command-line.ts";
import { commands } from "../../../src/cli/commands/commands.ts";
import { skipUnless } from "../../harness/parts.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { call } from "../call.ts";

const run = promisify(execFile);

/** The program that the scripts call: it lists two apps. */
const program = "nckubelet() { printf 'default/web\\nshop/web\\n'; }";

/** What a shell offers for the last of these words. */
type Offer = (...words: string[]) => Promise<string[]>;

const inBash: Offer = async (...words) => {
  const { stdout: script } = await call(["completion", "bash"]).done;
  const lines = [
    program,
    script,
    `COMP_WORDS=(nckubelet ${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${words.length}`,
    '_nckubelet; printf "%s\\n" "${COMPREPLY[@]}"',
  ];
  const { stdout } = await run("bash", ["-c", lines.join("\n")]);
  return stdout.trim().split("\n");
};

const inFish: Offer = async (...words) => {
  const { stdout: script } = await call(["completion", "fish"]).done;
  const line = ["nckubelet", ...words].join(" ");
  const lines = [
    "function nckubelet; printf 'default/web\\nshop/web\\n'; end",
    script,
    `complete -C '${line}'`,
  ];
  const { stdout } = await run("fish", ["--no-config", "-c", lines.join("\n")]);
  return stdout.trim().split("\n").map((row) => row.split("\t")[0] ?? "");
};

/** Words to complete, and what each shell must offer. */
const cases: { words: string[]; offered: string[] }[] = [
  { words: ["de"], offered: ["delete", "describe"] },
  { words: ["logs", "--f"], offered: ["--follow"] },
  { words: ["ps", "-o", "j"], offered: ["json"] },
  { words: ["ps", "--output", "wi"], offered: ["wide"] },
  { words: ["run", "--restart", "ne"], offered: ["never"] },
  { words: ["agent", "--log-level", "de"], offered: ["debug"] },
  { words: ["apply", "-f", "package-l"], offered: ["package-lock.json"] },
  { words: ["validate", "package-l"], offered: ["package-lock.json"] },
  { words: ["ps", "w"], offered: ["web"] },
  { words: ["explain", "cpu"], offered: ["cpuPCT"] },
  { words: ["explain", "ncappset.spec.update.maxU"], offered: ["ncappset.spec.update.maxUnavailable"] },
  { words: ["logs", ""], offered: ["shop/web", "web"] },
  { words: ["restart", "w"], offered: ["web"] },
  { words: ["completion", "z"], offered: ["zsh"] },
  { words: ["help", "vali"], offered: ["validate"] },
];

for (const [shell, offer] of Object.entries({ bash: inBash, fish: inFish })) {
  test(
    `${shell} completes commands, flags and their values, files and apps`,
    { skip: shell === "fish" && skipUnless("shells") },
    async () => {
      for (const { words, offered } of cases) {
        assert.deepEqual((await offer(...words)).sort(), offered, words.join(" "));
      }
    },
  );
}

test("zsh completes commands, flags and their values, files and apps", {
  skip: skipUnless("shells"),
}, async () => {
  const { stdout: script } = await call(["completion", "zsh"]).done;
  using temp = tempFolder();
  const folder = temp.path;
  // The completed line is written to a file: on the screen it is mixed with colors and cursor moves.
  const setup = [
    "autoload -Uz compinit && compinit -D -u",
    program,
    script,
    `answer() { print -r -- "$BUFFER" >> ${join(folder, "answers")}; BUFFER= }`,
    "zle -N answer && bindkey '^T' answer",
    "PROMPT='READY> '",
  ];
  await writeFile(join(folder, "setup"), setup.join("\n"));
  const shell = spawn("script", ["-qec", "zsh -f -i", "/dev/null"], {
    env: { PATH: process.env.PATH, HOME: folder, TERM: "dumb" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(shell, "close");
  let screen = "";
  shell.stdout.setEncoding("utf8").on("data", (text) => screen += text);
  try {
    shell.stdin.write(`source ${join(folder, "setup")}\n`);
    await waitFor("zsh is ready", () => screen.includes("\nREADY> ") || screen.includes("\rREADY> "));
    const single = cases.filter(({ offered }) => offered.length === 1);
    const answers = () =>
      readFile(join(folder, "answers"), "utf8").then((text) => text.trim().split("\n"), () => []);
    for (const [index, { words }] of single.entries()) {
      shell.stdin.write(`nckubelet ${words.join(" ")}\t\x14`);
      await waitFor("an answer", async () => (await answers()).length === index + 1);
    }
    assert.deepEqual(
      (await answers()).map((line) => line.trim()),
      single.map(({ words, offered }) => ["nckubelet", ...words.slice(0, -1), ...offered].join(" ")),
    );
  } finally {
    shell.kill();
    await ended;
  }
});

test("the script of each shell contains every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await call(["completion", shell]).done;
    assert.equal(code, 0);
    for (const name of Object.keys(visibleCommands(commands))) {
      assert.ok(stdout.includes(name), `${shell}: ${name}`);
    }
  }
  assert.match((await call(["completion", "csh"]).done).stderr, /name one shell: bash, zsh or fish/);
});
