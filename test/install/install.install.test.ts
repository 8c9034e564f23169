import assert from "node:assert/strict";
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createSandbox, fakeExecutable, shells } from "./sandbox.ts";

const joining = { NCKUBELET_SERVER: "https://10.0.0.1:6443", NCKUBELET_TOKEN: "abc.def" };

for (const shell of shells) {
  const name = shell.join(" ");

  test(`${name}: install.sh installs, does nothing the second time, upgrades, rolls back and uninstalls`, async () => {
    await using machine = await createSandbox();
    const bin = join(machine.root, "usr/local/bin");
    const before = await machine.list();
    const first = await machine.run(shell);
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    assert.match(
      first.stdout,
      /nckubelet 1\.0\.0 .*is running on this node[^]*nckubelet ps[^]*nckubelet run[^]*systemctl status/,
    );
    assert.deepEqual(await machine.calls(), [
      "enable --quiet nckubelet.service",
      "daemon-reload",
      "restart nckubelet.service",
    ]);
    const installed = await machine.list();
    assert.deepEqual(
      installed.filter((line) => !before.includes(line)).map((line) => line.split(" ").slice(0, 2).join(" ")),
      [
        "etc/nckubelet 755",
        "etc/nckubelet/.installed 644",
        "etc/nckubelet/agent.env 600",
        "etc/nckubelet/config.yaml 644",
        "etc/nckubelet/manifests 755",
        "etc/systemd/system/nckubelet.service 644",
        "usr/local/bin/nckubelet 755",
        "usr/local/bin/nckubelet-rollback.sh 755",
        "usr/local/bin/nckubelet-uninstall.sh 755",
      ],
    );

    const second = await machine.run(shell);
    assert.deepEqual([second.code, second.stderr], [0, ""]);
    assert.match(second.stdout, /^install: .* nothing to do\n$/);
    assert.deepEqual([await machine.calls(), await machine.list()], [[], installed]);

    await machine.publish(fakeExecutable("1.1.0"));
    assert.equal((await machine.run(shell)).code, 0);
    assert.deepEqual(await machine.calls(), ["daemon-reload", "restart nckubelet.service"]);
    assert.equal(await readFile(join(bin, "nckubelet"), "utf8"), fakeExecutable("1.1.0"));
    assert.equal(await readFile(join(bin, "nckubelet.previous"), "utf8"), fakeExecutable("1.0.0"));

    const back = await machine.run(shell, join(bin, "nckubelet-rollback.sh"));
    assert.deepEqual([back.code, back.stderr], [0, ""]);
    assert.match(back.stdout, /now running nckubelet 1\.0\.0/);
    assert.equal(await readFile(join(bin, "nckubelet"), "utf8"), fakeExecutable("1.0.0"));
    assert.equal(await readFile(join(bin, "nckubelet.previous"), "utf8"), fakeExecutable("1.1.0"));
    assert.deepEqual(await machine.calls(), ["restart nckubelet.service"]);

    const gone = await machine.run(shell, join(bin, "nckubelet-uninstall.sh"), {}, ["--purge"]);
    assert.deepEqual([gone.code, gone.stderr], [0, ""]);
    assert.deepEqual(await machine.list(), before);
    assert.ok((await machine.calls()).includes("stop nckubelet-apps.scope"));
  });

  test(`${name}: without --purge the state, logs and settings stay, and the script reports it`, async () => {
    await using machine = await createSandbox();
    await machine.run(shell);
    const { code, stdout } = await machine.run(
      shell,
      join(machine.root, "usr/local/bin/nckubelet-uninstall.sh"),
      {},
      ["--keep"],
    );
    assert.equal(code, 0);
    assert.match(stdout, /done; kept: \/var\/lib\/nckubelet \/var\/log\/nckubelet \/etc\/nckubelet/);
    const left = (await machine.list()).filter((line) => line.includes("nckubelet"));
    assert.ok(left.length > 0 && left.every((line) => line.startsWith("etc/nckubelet")), left.join("\n"));
  });

  test(`${name}: a join writes a kubeconfig for root alone and keeps what users wrote in the settings`, async () => {
    await using machine = await createSandbox();
    const etc = join(machine.root, "etc/nckubelet");
    await machine.run(shell);
    assert.match(await readFile(join(etc, "config.yaml"), "utf8"), /^standalone: true$/m);
    await writeFile(join(etc, "config.yaml"), "standalone: true\nlog-level: debug # mine\n");
    await machine.calls();

    const joined = await machine.run(shell, undefined, joining);
    assert.deepEqual([joined.code, joined.stderr], [0, ""]);
    assert.doesNotMatch(joined.stdout, /warning/);
    assert.equal((await stat(join(etc, "kubeconfig"))).mode & 0o777, 0o600);
    assert.match(
      await readFile(join(etc, "kubeconfig"), "utf8"),
      /^token abc\.def\n--node-name\n\S+\n--server\nhttps:\/\/10\.0\.0\.1:6443\n$/,
    );
    assert.equal(
      await readFile(join(etc, "config.yaml"), "utf8"),
      "log-level: debug # mine\nkubeconfig: /etc/nckubelet/kubeconfig\n",
    );
    assert.ok((await machine.calls()).includes("restart nckubelet.service"));
    await machine.run(shell, undefined, joining);
    assert.deepEqual(await machine.calls(), []);

    const unchanged = await machine.list();
    const refused = await machine.run(shell, undefined, { ...joining, NCKUBELET_TOKEN: "refused" });
    assert.equal(refused.code, 1);
    assert.equal(
      refused.stderr,
      "install: cannot use the API server: GET https://refused/version: 401\n",
    );
    assert.deepEqual(await machine.list(), unchanged);
  });

  test(`${name}: a join warns about variables of the agent that override it`, async () => {
    await using machine = await createSandbox();
    const etc = join(machine.root, "etc/nckubelet");
    await mkdir(etc);
    const { NCKUBELET_EXEC: listen } = machine.environment();
    await writeFile(join(etc, "agent.env"), "NCKUBELET_SERVER=https://10.0.0.2\n");
    const env = { ...joining, NCKUBELET_EXEC: `${listen} --standalone` };
    const { code, stdout } = await machine.run(shell, undefined, env);
    assert.equal(code, 0);
    const warnings = [...stdout.matchAll(/^install: warning: (\w+) in .*agent\.env overrides/gm)];
    assert.deepEqual(warnings.map(([, setting]) => setting), ["standalone", "server"]);
  });

  test(`${name}: a rollback checks the health of an agent that has its socket elsewhere`, async () => {
    await using machine = await createSandbox();
    for (const version of ["1.0.0", "1.1.0"]) {
      const answer = 'ps) [ "$*" = "ps --socket /srv/own.sock" ]; exit';
      await machine.publish(fakeExecutable(version).replace("ps) exit 0", answer));
      assert.equal(
        (await machine.run(shell, undefined, { NCKUBELET_EXEC: "--socket /srv/own.sock" })).code,
        0,
      );
    }
    const back = await machine.run(shell, join(machine.root, "usr/local/bin/nckubelet-rollback.sh"));
    assert.deepEqual([back.code, back.stderr], [0, ""]);
    assert.match(back.stdout, /now running nckubelet 1\.0\.0/);
  });

  test(`${name}: install.sh adds lines of its own to files without a last newline`, async () => {
    await using machine = await createSandbox();
    const etc = join(machine.root, "etc/nckubelet");
    await mkdir(etc);
    await writeFile(join(etc, "config.yaml"), "standalone: true\nlog-level: debug");
    await writeFile(join(etc, "agent.env"), "HTTPS_PROXY=http://proxy:3128");
    for (const _ of ["first", "again"]) {
      const { code, stderr } = await machine.run(shell, undefined, joining);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(
        await readFile(join(etc, "config.yaml"), "utf8"),
        "log-level: debug\nkubeconfig: /etc/nckubelet/kubeconfig\n",
      );
      assert.equal(
        await readFile(join(etc, "agent.env"), "utf8"),
        `HTTPS_PROXY=http://proxy:3128\nNCKUBELET_EXEC="${machine.environment().NCKUBELET_EXEC}"\n`,
      );
    }
  });

  test(`${name}: a run that repairs an agent that kept failing gives it time to start`, async () => {
    await using machine = await createSandbox();
    const up = join(machine.dir, "up");
    // It answers a while after its start.
    await machine.publish(fakeExecutable("1.0.0").replace("ps) exit 0", `ps) test -e ${up}`));
    const silent = { NCKUBELET_EXEC: "--listen 127.0.0.1:1" };
    const meanwhile = (happens: string) => writeFile(join(machine.tools, "sleep"), `#!/bin/sh\n${happens}\n`);
    await meanwhile(`echo 3 >${join(machine.dir, "restarts")}`);
    const failed = await machine.run(shell, undefined, silent);
    assert.deepEqual([failed.code, /does not become healthy/.test(failed.stdout)], [1, true]);

    await meanwhile(`touch ${up}`);
    const repaired = await machine.run(shell, undefined, silent);
    assert.deepEqual([repaired.code, repaired.stderr], [0, ""], repaired.stdout);
    assert.match(repaired.stdout, /is running on this node/);
  });

  test(`${name}: settings that an admin made private stay private, and cause no restart`, async () => {
    await using machine = await createSandbox();
    const config = join(machine.root, "etc/nckubelet/config.yaml");
    await machine.run(shell);
    await machine.calls();
    await chmod(config, 0o600);
    assert.match((await machine.run(shell)).stdout, /nothing to do/);
    assert.deepEqual([(await stat(config)).mode & 0o777, await machine.calls()], [0o600, []]);

    assert.equal((await machine.run(shell, undefined, joining)).code, 0);
    assert.match(await readFile(config, "utf8"), /^kubeconfig: /m);
    assert.equal((await stat(config)).mode & 0o777, 0o600);
  });
}

for (const shell of shells) {
  test(`${shell.join(" ")}: a release older than the installed one needs the operator's word`, async () => {
    await using machine = await createSandbox();
    const publish = (version: string, date: string) =>
      machine.publish(fakeExecutable(version), `# nckubelet ${version} ${date}\n`);
    const version = async () =>
      (await readFile(join(machine.root, "usr/local/bin/nckubelet"), "utf8")).match(/nckubelet ([\d.]+)/)
        ?.[1];
    await publish("1.9.0", "2026-11-01T00:00:00Z");
    assert.equal((await machine.run(shell)).code, 0);
    await publish("1.10.0", "2026-11-18T00:00:00Z");
    assert.deepEqual([(await machine.run(shell)).code, await version()], [0, "1.10.0"]);

    await publish("1.9.0", "2026-11-01T00:00:00Z");
    const before = await machine.list();
    const refused = await machine.run(shell);
    assert.deepEqual([refused.code, await machine.list()], [1, before]);
    assert.equal(
      refused.stderr,
      "install: the release 1.9.0 of 2026-11-01T00:00:00Z is older than the installed 1.10.0 of 2026-11-18T00:00:00Z: " +
        "to go back, set NCKUBELET_VERSION=1.9.0\n",
    );
    await symlink(".", join(machine.dir, "release/1.9.0"));
    const allowed = await machine.run(shell, undefined, { NCKUBELET_VERSION: "1.9.0" });
    assert.deepEqual([allowed.code, await version()], [0, "1.9.0"], allowed.stderr);
  });
}

test("the agent may take a quarter of the machine's memory, 256 MB to 1 GB", async () => {
  await using machine = await createSandbox();
  await mkdir(join(machine.root, "proc"));
  for (const [kilobytes, megabytes] of [[524_288, 256], [2_097_152, 512], [100_000_000, 1024]] as const) {
    await writeFile(join(machine.root, "proc/meminfo"), `MemTotal: ${kilobytes} kB\nMemFree: 1 kB\n`);
    const { stdout } = await machine.call(
      ["sh"],
      `root=${machine.root}; write_systemd_unit; write_openrc_script`,
    );
    assert.ok(stdout.includes(`\nMemoryHigh=${megabytes * 3 / 4}M\nMemoryMax=${megabytes}M\n`), stdout);
    assert.ok(stdout.includes(`\nrc_cgroup_settings="memory.max ${megabytes}M"\n`), stdout);
  }
});

test("install.sh keeps the flags of the agent until it gets new ones", async () => {
  await using machine = await createSandbox();
  const flags = `${machine.environment().NCKUBELET_EXEC} --namespace "a $b"`;
  await machine.run(["sh"], undefined, { NCKUBELET_EXEC: flags });
  const file = join(machine.root, "etc/nckubelet/agent.env");
  const written = await readFile(file, "utf8");
  assert.match(written, /^NCKUBELET_EXEC="--listen 127\.0\.0\.1:\d+ --namespace \\"a \\\$b\\""$/m);
  const { stdout } = await machine.call(["sh"], `. ${file}; printf %s "$NCKUBELET_EXEC"`);
  assert.equal(stdout, flags);
});

test("install.sh runs the agent under OpenRC if there is no systemd", async () => {
  await using machine = await createSandbox();
  const active = join(machine.dir, "active");
  const script = `[ "$2" != status ] || { test -e ${active}; exit; }
echo "$(basename "$0") $*" >>${machine.dir}/calls
[ "$2" != restart ] || touch ${active}\n`;
  for (const tool of ["rc-service", "rc-update"]) {
    await writeFile(join(machine.tools, tool), `#!/bin/sh\n${script}`, { mode: 0o755 });
  }
  await rm(join(machine.root, "run/systemd"), { recursive: true });
  await mkdir(join(machine.root, "etc/init.d"));
  const { code, stderr, stdout } = await machine.run(["sh"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /rc-service nckubelet status/);
  assert.deepEqual(await machine.calls(), [
    "rc-update add nckubelet default",
    "rc-service nckubelet restart",
  ]);
  const init = join(machine.root, "etc/init.d/nckubelet");
  assert.equal((await stat(init)).mode & 0o777, 0o755);
  assert.match(await readFile(init, "utf8"), /supervisor=supervise-daemon/);
});
