import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createSandbox, shells } from "./sandbox.ts";

const all = shells.length === 3 || process.env.CI === "true";
test("dash, ash and bash are all here to run the script", { skip: !all && "not all of them" }, () => {
  assert.deepEqual(shells.map((words) => words.at(-1)), ["dash", "ash", "bash"]);
});

for (const shell of shells) {
  const name = shell.join(" ");

  test(`${name}: listen_address takes the flag, then the setting, then the default`, async () => {
    await using machine = await createSandbox();
    const etc = join(machine.dir, "etc");
    await mkdir(etc);
    const address = async (env: string, config: string) => {
      await writeFile(join(etc, "agent.env"), env);
      await writeFile(join(etc, "config.yaml"), config);
      return (await machine.call(shell, `etc=${etc}; listen_address`)).stdout.trim();
    };
    assert.equal(await address("# none\n", "manifests: /x\n"), "127.0.0.1:10268");
    assert.equal(await address("", "listen: '127.0.0.1:1' # mine\n"), "127.0.0.1:1");
    assert.equal(
      await address('NCKUBELET_EXEC="--listen=127.0.0.1:2 --x"\n', "listen: 127.0.0.1:1\n"),
      "127.0.0.1:2",
    );
    assert.equal(await address('NCKUBELET_EXEC="--x --listen 127.0.0.1:3"\n', ""), "127.0.0.1:3");
  });

  test(`${name}: listed_digest finds a name as it is, in text and in binary lines`, async () => {
    await using machine = await createSandbox();
    await writeFile(join(machine.dir, "SHA256SUMS"), "aa  xname\nbb *name\ncc  other\n");
    const words = (wanted: string) => `work=${machine.dir}; listed_digest ${wanted} || echo none`;
    assert.equal((await machine.call(shell, words("name"))).stdout, "bb\n");
    assert.equal((await machine.call(shell, words("nam"))).stdout, "none\n");
  });

  test(`${name}: one_word refuses what YAML or a shell would read, and does not repeat it`, async () => {
    await using machine = await createSandbox();
    for (const word of ["https://[::1]:6443", "eyJ.a-b_c~d+e/f=", "v1.2.3"]) {
      assert.equal((await machine.call(shell, `one_word X "$WORD"`, { WORD: word })).code, 0, word);
    }
    for (const word of ["a b", 'a"b', "a'b", "a\nb", "$(x)", "a`b", "a\\b", "a;b", "a,b", "{a}"]) {
      const { code, stderr } = await machine.call(shell, `one_word X "$WORD"`, { WORD: word });
      assert.deepEqual([code, stderr], [1, "install: X has a character that does not belong there\n"]);
    }
  });

  test(`${name}: the unit slows restarts down only where systemd knows how`, async () => {
    await using machine = await createSandbox();
    const unit = async (version: string) =>
      (await machine.call(shell, `systemctl() { echo "systemd ${version}"; }; write_systemd_unit`)).stdout;
    assert.doesNotMatch(await unit("252 (252.39-1~deb12u1)"), /RestartSteps/);
    assert.match(await unit("257 (257.1)"), /^RestartSteps=5\nRestartMaxDelaySec=60$/m);
  });
}

const checker = spawnSync("shellcheck", ["--version"]).status === 0;
test(
  "the scripts that install.sh writes pass shellcheck",
  { skip: !checker && "no shellcheck here" },
  async () => {
    await using machine = await createSandbox();
    for (const script of ["write_uninstall", "write_rollback", "write_openrc_script"]) {
      const { stdout } = await machine.call(["sh"], script);
      const { status, stdout: found } = spawnSync("shellcheck", ["--severity=warning", "-"], {
        input: stdout,
      });
      assert.equal(status, 0, `${script}:\n${found}`);
    }
  },
);
