import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createSandbox, fakeExecutable, shells } from "./sandbox.ts";

const all = shells.length === 3 || process.env.CI === "true";
test("dash, ash and bash are all available to run the script", { skip: !all && "not all of them" }, () => {
  assert.deepEqual(shells.map((words) => words.at(-1)), ["dash", "ash", "bash"]);
});

for (const shell of shells) {
  const name = shell.join(" ");

  test(`${name}: agent_setting prefers the flag, then the environment, then the config file`, async () => {
    await using machine = await createSandbox();
    const etc = join(machine.dir, "etc");
    await mkdir(etc);
    const setting = async (env: string, config: string) => {
      await writeFile(join(etc, "agent.env"), env);
      await writeFile(join(etc, "config.yaml"), config);
      return (await machine.call(shell, `etc=${etc}; agent_setting socket`)).stdout.trim();
    };
    const file = "socket: /1\n";
    assert.equal(await setting("# none\n", "manifests: /x\n"), "");
    assert.equal(await setting("", "socket: '/1' # mine\n"), "=/1");
    assert.equal(await setting('NCKUBELET_SOCKET="/4"\n', file), "=/4");
    assert.equal(await setting("NCKUBELET_SOCKET=/4\nNCKUBELET_SOCKET='/5'\n", ""), "=/5");
    assert.equal(await setting('NCKUBELET_EXEC="--socket=/2 --x"\nNCKUBELET_SOCKET=/4\n', file), "=/2");
    assert.equal(await setting('NCKUBELET_EXEC="--x --socket /3"\n', ""), "=/3");
    assert.equal(await setting('NCKUBELET_EXEC="--socket \\"/3\\""\n', ""), "=/3");
    assert.equal(await setting("NCKUBELET_SOCKET=\n", file), "=");
  });

  test(`${name}: an agent answers if its service is active and its socket does; its port proves nothing`, async () => {
    await using machine = await createSandbox();
    const [bin, etc] = [join(machine.dir, "bin"), join(machine.dir, "etc")];
    await mkdir(bin);
    await mkdir(etc);
    // Anyone may answer there: the sandbox does.
    await writeFile(join(etc, "config.yaml"), `listen: ${new URL(machine.url).host}\nsocket: own.sock\n`);
    const answers = async ({ active, socket }: { active: boolean; socket: boolean }) => {
      await rm(join(machine.dir, "active"), { force: true });
      if (active) await writeFile(join(machine.dir, "active"), "");
      const answer = `ps) echo "$@" >${machine.dir}/asked; exit`;
      const executable = fakeExecutable("1.0.0", { socket }).replace("ps) exit", answer);
      await writeFile(join(bin, "nckubelet"), executable, { mode: 0o755 });
      const words = `root=${machine.root} bin=${bin} etc=${etc}; agent_answers && echo yes || echo no`;
      return (await machine.call(shell, words)).stdout;
    };
    assert.equal(await answers({ active: false, socket: true }), "no\n");
    assert.equal(await answers({ active: true, socket: false }), "no\n");
    assert.equal(await answers({ active: true, socket: true }), "yes\n");
    assert.equal(await readFile(join(machine.dir, "asked"), "utf8"), "ps --socket /etc/nckubelet/own.sock\n");
  });

  test(`${name}: fetch gives up a download that stalls`, async () => {
    await using machine = await createSandbox();
    const { stdout } = await machine.call(shell, `curl() { echo "$@" >&3; }; fetch https://x/y file 3>&1`);
    assert.match(stdout, / --speed-limit 1000 --speed-time 30 -o file https:\/\/x\/y\n$/);
  });

  test(`${name}: without curl, a redirect from https to http is refused, and so is a wget that cannot refuse it`, async () => {
    await using machine = await createSandbox();
    // GNU's ends with 8 at a redirect that it may not follow, and prints the headers.
    const gnu = (location: string) =>
      `case $* in
        *--help*) echo "  --max-redirect  maximum redirections allowed per page" ;;
        *--max-redirect=0*releases*) printf '  HTTP/1.1 302 Found\r\n  Location: ${location}\r\n' >&2; return 8 ;;
        *) echo "$@" >&3 ;;
      esac`;
    const fetchBy = (wget: string, url: string, key = "") =>
      machine.call(
        shell,
        `command() { [ "$2" != curl ]; }; wget() { ${wget}; }; public_key=${key}; fetch ${url} file 3>&1`,
      );
    const url = "https://releases.example.com/x";
    const down = await fetchBy(gnu("http://elsewhere.example.com/x"), url);
    assert.equal(
      down.stderr,
      `install: cannot download ${url}: it redirects to http://elsewhere.example.com/x, which is not https\n`,
    );
    assert.deepEqual([down.code, down.stdout], [1, ""]);
    const beside = await fetchBy(gnu("https://mirror.example.com/x"), url);
    assert.deepEqual([beside.code, beside.stdout], [
      0,
      "-nv -S --max-redirect=0 -T 20 -O file https://mirror.example.com/x\n",
    ]);
    const busybox = 'case $* in *--help*) echo "Usage: wget URL" ;; *) echo "$@" >&3 ;; esac';
    const unverified = await fetchBy(busybox, url);
    assert.equal(
      unverified.stderr,
      "install: this wget does not verify https: install curl, or set NCKUBELET_PUBLIC_KEY\n",
    );
    assert.equal((await fetchBy(busybox, url, "key")).stdout, `-q -T 20 -O file ${url}\n`);
    assert.equal(
      (await fetchBy(busybox, "http://127.0.0.1/x")).stdout,
      "-q -T 20 -O file http://127.0.0.1/x\n",
    );
  });

  test(`${name}: listed_digest finds an exact name, in text and in binary lines`, async () => {
    await using machine = await createSandbox();
    await writeFile(join(machine.dir, "SHA256SUMS"), "aa  xname\nbb *name\ncc  other\n");
    const words = (wanted: string) => `work=${machine.dir}; listed_digest ${wanted} || echo none`;
    assert.equal((await machine.call(shell, words("name"))).stdout, "bb\n");
    assert.equal((await machine.call(shell, words("nam"))).stdout, "none\n");
  });

  test(`${name}: one_word refuses what YAML or a shell would interpret, and does not repeat it`, async () => {
    await using machine = await createSandbox();
    for (const word of ["https://[::1]:6443", "eyJ.a-b_c~d+e/f=", "v1.2.3"]) {
      assert.equal((await machine.call(shell, `one_word X "$WORD"`, { WORD: word })).code, 0, word);
    }
    for (const word of ["a b", 'a"b', "a'b", "a\nb", "$(x)", "a`b", "a\\b", "a;b", "a,b", "{a}"]) {
      const { code, stderr } = await machine.call(shell, `one_word X "$WORD"`, { WORD: word });
      assert.deepEqual([code, stderr], [1, "install: X contains an invalid character\n"]);
    }
  });

  test(`${name}: OpenRC passes the agent its flags as they are written, without their quotes`, async () => {
    await using machine = await createSandbox();
    const { dir } = machine;
    const flags = {
      "--manifest-url": ["https://cfg/apps?site=a&node=b", "https://cfg/apps?site=a&node=b"],
      "--a": [`"b & c;d"`, "b & c;d"],
      "--e": ["'$f `g` (h)'", "$f `g` (h)"],
      "--i": [`"it's"`, "it's"],
      "--j": ["<k>|*#$HOME;x", "<k>|*#$HOME;x"],
      "--l": ["''", ""],
      "--m": [String.raw`"n\"o"p\ q`, 'n"op q'],
    };
    const written = Object.entries(flags).map(([flag, [text]]) => `${flag} ${text}`).join("  ");
    const words = (exec: string) =>
      `etc=${dir}; work=${dir}; stage_agent_env; unset NCKUBELET_EXEC
      write_openrc_script | sed 's,/etc/nckubelet/agent.env,${dir}/env,' >${dir}/init
      show() { for word; do printf '[%s]\\n' "$word"; done; }
      set +eu; . ${dir}/init; eval show ${exec}`;
    // The eval of OpenRC's supervise-daemon.sh.
    const seen = async (value: string) =>
      (await machine.call(shell, words("$command_args"), { NCKUBELET_EXEC: value })).stdout.split("\n").slice(
        0,
        -1,
      );
    const expected = Object.entries(flags).flatMap(([flag, [, value]]) => [flag, value]);
    assert.deepEqual(await seen(written), ["agent", ...expected].map((word) => `[${word}]`));
    for (const none of ["", "  "]) assert.deepEqual(await seen(none), ["[agent]"]);
  });

  test(`${name}: the agent may open 65536 files, and its apps may raise theirs to 524288`, async () => {
    await using machine = await createSandbox();
    assert.match((await machine.call(shell, "write_systemd_unit")).stdout, /^LimitNOFILE=65536:524288$/m);
    // dash refuses two limits in one call.
    const words =
      `write_openrc_script >${machine.dir}/init; . ${machine.dir}/init; ulimit() { printf '%s\\n' "$*"; }; start_pre`;
    assert.equal((await machine.call(shell, words)).stdout, "-n 65536\n-Hn 524288\n");
    const refused =
      `write_openrc_script >${machine.dir}/init; . ${machine.dir}/init; ewarn() { echo "warning: $*"; }
      ulimit() { [ $# = 1 ] && echo 7; }; start_pre && echo started`;
    assert.match(
      (await machine.call(shell, refused)).stdout,
      /^warning: .*: 7, for apps at most 7\nstarted\n$/,
    );
  });

  test(`${name}: systemctl and rc-service can reload the agent`, async () => {
    await using machine = await createSandbox();
    const unit = (await machine.call(shell, "write_systemd_unit")).stdout;
    assert.match(unit, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
    const words =
      `write_openrc_script >${machine.dir}/init; . ${machine.dir}/init; echo "$extra_started_commands"
      ebegin() { :; }; eend() { return "$1"; }; supervise-daemon() { echo "$*"; }; RC_SVCNAME=nckubelet; reload`;
    assert.equal((await machine.call(["bash"], words)).stdout, "reload\nnckubelet --signal HUP\n");
  });

  test(`${name}: the unit slows restarts down only if systemd supports it`, async () => {
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
