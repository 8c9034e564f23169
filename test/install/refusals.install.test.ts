import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createSandbox, fakeExecutable, type Sandbox, shells } from "./sandbox.ts";

interface Refusal {
  /** Changes the machine so that an installation must fail. */
  spoil?: (machine: Sandbox) => Promise<unknown> | void;
  env?: Record<string, string>;
  says: RegExp;
}

const fake = (machine: Sandbox, tool: string, text: string) =>
  writeFile(join(machine.tools, tool), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

const refusals: Record<string, Refusal> = {
  "not root": { spoil: (machine) => fake(machine, "id", "echo 1000"), says: /must run as root/ },
  "no cgroup v2": {
    spoil: (machine) => rm(join(machine.root, "sys/fs/cgroup/cgroup.controllers")),
    says: /no cgroup v2 at \/sys\/fs\/cgroup: boot with systemd\./,
  },
  "no cgroup v2 under OpenRC": {
    spoil: async (machine) => {
      await rm(join(machine.root, "sys/fs/cgroup/cgroup.controllers"));
      await rm(join(machine.root, "run/systemd"), { recursive: true });
      await fake(machine, "rc-service", "exit 1");
    },
    says: /no cgroup v2 at \/sys\/fs\/cgroup: set rc_cgroup_mode="unified" in \/etc\/rc\.conf and reboot/,
  },
  "another machine": {
    spoil: (machine) => fake(machine, "uname", '[ "$1" = -s ] && echo Linux || echo riscv64'),
    says: /no executable for riscv64/,
  },
  "an executable for another machine": {
    spoil: (machine) => machine.publish(`\x7fELF${"\0".repeat(14)}\x2a\0`),
    says: /the executable is not for /,
  },
  "neither systemd nor OpenRC": {
    spoil: (machine) => rm(join(machine.root, "run/systemd"), { recursive: true }),
    says: /found neither systemd nor OpenRC/,
  },
  "a wrong digest": {
    spoil: async (machine) => {
      const sums = join(machine.dir, "release/SHA256SUMS");
      await writeFile(sums, (await readFile(sums, "utf8")).replaceAll(/^\w{8}/gm, "00000000"));
    },
    says: /has the digest \w{64}, SHA256SUMS says 00000000\w{56}$/m,
  },
  "a release without this machine's executable": {
    spoil: (machine) => writeFile(join(machine.dir, "release/SHA256SUMS"), ""),
    says: /does not list nckubelet-linux-/,
  },
  "an address where nothing listens": {
    env: { NCKUBELET_URL: "http://127.0.0.1:1" },
    says: /cannot download http:\/\/127\.0\.0\.1:1\/SHA256SUMS: .*127\.0\.0\.1/,
  },
  "a proxy where nothing listens": {
    env: { NCKUBELET_URL: "http://127.0.0.2:2", http_proxy: "http://user:secret@127.0.0.1:1" },
    says: /cannot download (?!.*secret).*\(through the proxy of \$http_proxy\)/,
  },
  "an address of another kind": {
    env: { NCKUBELET_URL: "ftp://x" },
    says: /must start with https:\/\/ or http:\/\//,
  },
  "a node whose Lease would belong to another": {
    env: { NCKUBELET_EXEC: "--standalone --node-name=nckubelet-a --log-level debug" },
    says: /the name of this node, nckubelet-a, must not begin with nckubelet-/,
  },
  "a host name whose Lease would belong to another": {
    spoil: (machine) => fake(machine, "uname", '[ "$1" = -n ] && echo NCKubelet-A || echo Linux'),
    says: /the name of this node, nckubelet-a, must not begin with nckubelet-/,
  },
  "no address at all": { env: { NCKUBELET_URL: "" }, says: /set NCKUBELET_URL/ },
  "another version than asked for": {
    spoil: (machine) => symlink(".", join(machine.dir, "release/v9.9.9")),
    env: { NCKUBELET_VERSION: "v9.9.9" },
    says: /NCKUBELET_VERSION is v9\.9\.9, but the executable reports: nckubelet 1\.0\.0/,
  },
  "a missing library": {
    spoil: (machine) =>
      machine.publish(
        "#!/bin/sh\necho 'nckubelet: libatomic.so.1: cannot open shared object file' >&2\nexit 127\n",
      ),
    says: /apt-get install libatomic1/,
  },
  "an executable that does not run": {
    spoil: (machine) => machine.publish("#!/bin/sh\necho 'GLIBC_2.28 not found' >&2\nexit 1\n"),
    says: /does not run here.*GLIBC_2\.28/,
  },
  "a full disk": {
    spoil: async (machine) => {
      await fake(machine, "gzip", "echo 'gzip: stdout: No space left on device' >&2; exit 1");
      await fake(machine, "df", "echo x; echo '/dev/vda 1000000 999999 512 100% /'");
    },
    says: /no space left: \/ has 0 MB free, the executable needs 120 MB/,
  },
  "a read-only /usr": {
    spoil: (machine) =>
      fake(
        machine,
        "mktemp",
        "echo \"mktemp: failed to create directory via template 'x': Read-only file system\" >&2; exit 1",
      ),
    says: /cannot write to .*\/usr\/local\/bin: Read-only file system/,
  },
  "another install at work": {
    spoil: async (machine) => {
      await writeFile(join(machine.root, "run/nckubelet-install.lock"), "");
      await fake(machine, "flock", "exit 1");
    },
    says: /another install\.sh is running/,
  },
  "an unsigned release where a key is given": {
    spoil: (machine) => makeKey(machine),
    env: { NCKUBELET_PUBLIC_KEY: "KEY" },
    says: /cannot download .*SHA256SUMS\.sig/,
  },
  "a release signed by another key": {
    spoil: async (machine) => {
      await makeKey(machine);
      await writeFile(join(machine.dir, "release/SHA256SUMS.sig"), "x");
    },
    env: { NCKUBELET_PUBLIC_KEY: "KEY" },
    says: /SHA256SUMS is not signed with the key/,
  },
  "signed sums that name no release": {
    spoil: async (machine) => {
      await makeKey(machine);
      sign(machine);
    },
    env: { NCKUBELET_PUBLIC_KEY: "KEY" },
    says: /SHA256SUMS is signed, but its first line names no version and date/,
  },
  "a token for an open line": {
    env: { NCKUBELET_SERVER: "http://10.0.0.1", NCKUBELET_TOKEN: "secret" },
    says: /is not encrypted: unset NCKUBELET_TOKEN/,
  },
  "a token with a quote in it": {
    env: { NCKUBELET_SERVER: "https://10.0.0.1", NCKUBELET_TOKEN: 'a"b' },
    says: /NCKUBELET_TOKEN contains an invalid character\n$/,
  },
  "a kubeconfig that is not there": {
    env: { NCKUBELET_KUBECONFIG: "/nowhere" },
    says: /no such file: \/nowhere/,
  },
  "an API server that the new executable cannot join": {
    env: {
      NCKUBELET_SERVER: "https://10.0.0.1",
      NCKUBELET_TOKEN: "a",
      NCKUBELET_CA_HASH: "sha256:refused",
    },
    says: /^install: cannot use the API server: GET https:\/\/refused\/version: 401$/m,
  },
};

function makeKey(machine: Sandbox): void {
  const run = (...args: string[]) => execFileSync("openssl", args, { cwd: machine.dir, stdio: "ignore" });
  run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "cert", "-subj", "/CN=ca");
  run("pkey", "-in", "key", "-pubout", "-out", "public-key");
}

function sign({ dir }: Sandbox): void {
  const [sums, signature] = ["release/SHA256SUMS", "release/SHA256SUMS.sig"];
  execFileSync("openssl", ["dgst", "-sha256", "-sign", "key", "-out", signature, sums], { cwd: dir });
}

const paths = (machine: Sandbox, env: Record<string, string> = {}) =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value === "KEY" ? join(machine.dir, "public-key") : value,
    ]),
  );

for (const shell of shells) {
  test(`${shell.join(" ")}: install.sh refuses in one line what cannot work, and changes nothing`, async (t) => {
    for (const [what, { spoil, env, says }] of Object.entries(refusals)) {
      await t.test(what, async () => {
        await using machine = await createSandbox();
        await spoil?.(machine);
        const before = await machine.list();
        const { code, stderr } = await machine.run(shell, undefined, paths(machine, env));
        assert.match(stderr, says);
        assert.equal(stderr.split("\n").length, 2, `more than one line: ${stderr}`);
        assert.equal(code, 1);
        assert.deepEqual([await machine.list(), await machine.calls()], [before, []]);
      });
    }
  });
}

test("install.sh accepts a signed release, a pinned CA and a file with its digest", async () => {
  await using machine = await createSandbox();
  await machine.publish(fakeExecutable("1.0.0"), "# nckubelet 1.0.0 2026-11-01T00:00:00Z\n");
  makeKey(machine);
  sign(machine);
  const { code, stderr } = await machine.run(["sh"], undefined, {
    NCKUBELET_URL: "",
    NCKUBELET_BINARY: join(machine.dir, `release/nckubelet-linux-amd64.gz`),
    NCKUBELET_PUBLIC_KEY: join(machine.dir, "public-key"),
    NCKUBELET_SERVER: "https://10.0.0.1",
    NCKUBELET_TOKEN: "a",
    NCKUBELET_CA_FILE: join(machine.dir, "cert"),
    NCKUBELET_CA_HASH: "sha256:pin",
  });
  assert.deepEqual([code, stderr], [0, ""]);
  const kubeconfig = await readFile(join(machine.root, "etc/nckubelet/kubeconfig"), "utf8");
  assert.ok(
    kubeconfig.endsWith(`--ca-file\n${join(machine.dir, "cert")}\n--ca-hash\nsha256:pin\n`),
    kubeconfig,
  );
});

test("install.sh prints the agent's last log lines when it does not become healthy", async () => {
  await using machine = await createSandbox(fakeExecutable("1.0.0", { socket: false }));
  const { code, stdout, stderr } = await machine.run(["sh"], undefined, {
    NCKUBELET_EXEC: "--listen 127.0.0.1:1",
  });
  assert.equal(code, 1);
  assert.match(stdout, /the agent does not become healthy/);
  assert.match(stderr, /the last log lines of the agent/);
});

test("install.sh is not blocked by a lock that any user can take, and leaves none", async (t) => {
  await using machine = await createSandbox();
  const other = spawn("sh", ["-c", `exec 9<${machine.root}/etc; flock 9; echo locked; exec sleep 600`]);
  t.after(() => other.kill("SIGKILL"));
  await once(other.stdout, "data");
  const lock = join(machine.root, "run/nckubelet-install.lock");
  await fake(machine, "systemctl", `stat -c %a ${lock} >>${machine.dir}/modes; exit 0`);
  const { code, stderr } = await machine.run(["sh"]);
  assert.deepEqual([code, stderr, existsSync(lock)], [0, "", false]);
  assert.match(await readFile(join(machine.dir, "modes"), "utf8"), /^(600\n)+$/);
});
