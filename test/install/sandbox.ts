/**
 * A machine in a folder for install.sh: its paths, and fakes of the few programs that would touch the real machine, which
 * record their calls.
 *
 * Guarantees: with `NCKUBELET_TEST_ROOT` and the sandbox's PATH, install.sh writes nowhere else.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { tempFolder } from "../temp-folder.ts";

/** The script under test. */
export const installScript = fileURLToPath(new URL("../../install.sh", import.meta.url));

/** The common shells that this machine has. */
export const shells: string[][] = [["dash"], ["busybox", "ash"], ["bash"]].filter(([file = ""]) => {
  try {
    execFileSync("sh", ["-c", `command -v ${file}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

/** The result of a run. */
export interface RunResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A machine in a folder. */
export interface Sandbox extends AsyncDisposable {
  /** The folder itself; `root` in it is the machine, and a file `restarts` says how often systemd has restarted the agent. */
  dir: string;
  root: string;
  /** The folder with the fakes, on the PATH before the machine's own; `wrapped` in `dir` comes before it. */
  tools: string;
  /** Where the release is served; `/healthz` answers there too, as any program of a user could. */
  url: string;
  /** Sets the release that is served; `about` is the first line of its sums. */
  publish(executable: string, about?: string): Promise<void>;
  run(shell: string[], file?: string, env?: Record<string, string>, args?: string[]): Promise<RunResult>;
  /** Runs words of shell with the functions of install.sh at hand. */
  call(shell: string[], words: string, env?: Record<string, string>): Promise<RunResult>;
  /** Every path of the machine with its mode and digest. */
  list(): Promise<string[]>;
  /** The calls of systemctl that changed something, since the last call. */
  calls(): Promise<string[]>;
  environment(env?: Record<string, string>): Record<string, string>;
}

/**
 * An executable as install.sh sees it: it prints its version, and its kubeconfig records how it was called to join. `socket`:
 * whether its agent answers through the socket.
 */
export function fakeExecutable(version: string, { socket = true } = {}): string {
  return `#!/bin/sh
case $1 in
  version) echo "nckubelet ${version} (a fake)" ;;
  join)
    case $*$NCKUBELET_TOKEN in
      *refused*) echo "nckubelet: GET https://refused/version: 401" >&2; exit 1 ;;
    esac
    output=$3
    shift 3
    printf '%s\\n' "token $NCKUBELET_TOKEN" "$@" >"$output"
    ;;
  ps) exit ${socket ? 0 : 1} ;;
esac
`;
}

/** Creates a machine that runs systemd and has cgroup v2, and publishes a release with this executable. */
export async function createSandbox(executable = fakeExecutable("1.0.0")): Promise<Sandbox> {
  const temp = tempFolder();
  const dir = temp.path;
  const [root, tools, release] = [join(dir, "root"), join(dir, "tools"), join(dir, "release")];
  for (const folder of ["etc/systemd/system", "usr/local/bin", "sys/fs/cgroup", "run/systemd/system"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await Promise.all([tools, release].map((folder) => mkdir(folder)));
  await writeFile(join(root, "sys/fs/cgroup/cgroup.controllers"), "cpuset cpu io memory pids\n");
  for (const [name, text] of Object.entries(fakes(dir))) {
    await writeFile(join(tools, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  const functions = (await readFile(installScript, "utf8")).trimEnd().split("\n").slice(0, -1).join("\n");
  await writeFile(join(dir, "functions.sh"), `${functions}\n`);
  const server = createServer((request, response) => {
    if (request.url === "/healthz") return response.end("ok");
    readFile(join(release, request.url ?? "")).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  const environment = (env: Record<string, string> = {}) => ({
    PATH: `${join(dir, "wrapped")}:${tools}:${process.env.PATH}`,
    NCKUBELET_TEST_ROOT: root,
    NCKUBELET_URL: url,
    NCKUBELET_EXEC: `--listen 127.0.0.1:${port}`,
    ...env,
  });
  const run: Sandbox["run"] = async (shell, file = installScript, env = {}, args = []) => {
    // busybox prefers its built-in programs over the PATH, but not over functions.
    const functions = (await readdir(tools)).filter((name) => /^\w+$/.test(name))
      .map((name) => `${name}() { ${join(tools, name)} "$@"; }; `).join("");
    const words = shell[0] === "busybox" ? ["-c", `${functions}. "$0"`, file] : [file];
    return await runProgram([...shell, ...words, ...args], environment(env));
  };
  const publish: Sandbox["publish"] = async (executable, about = "") => {
    const packed = gzipSync(executable);
    const digest = createHash("sha256").update(packed).digest("hex");
    const names = ["amd64", "arm64"].map((arch) => `nckubelet-linux-${arch}.gz`);
    for (const name of names) await writeFile(join(release, name), packed);
    const sums = names.map((name) => `${digest}  ${name}\n`);
    await writeFile(join(release, "SHA256SUMS"), about + sums.join(""));
  };
  await publish(executable);
  return {
    dir,
    root,
    tools,
    url,
    environment,
    run,
    publish,
    call: (shell, words, env = {}) =>
      runProgram([...shell, "-c", `${prelude(dir)}; ${words}`], environment(env)),
    list: () => listTree(root),
    async calls() {
      const log = join(dir, "calls");
      const lines = (await readFile(log, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
      await rm(log, { force: true });
      return lines;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      temp.remove();
    },
  };
}

/** As main begins. */
const prelude = (dir: string) =>
  `. ${join(dir, "functions.sh")}; set -eu; eval "$(write_setting_functions; write_answer_functions)"`;

function fakes(dir: string): Record<string, string> {
  return {
    id: "echo 0",
    sleep: ":",
    journalctl: "echo 'the last log lines of the agent'",
    systemctl: `case $1 in
  --version) echo "systemd 252 (252.39)" ;;
  is-active) test -e ${dir}/active ;;
  is-enabled) test -e ${dir}/enabled ;;
  show) echo "NRestarts=$(cat ${dir}/restarts 2>/dev/null || echo 0)" ;;
  reset-failed) rm -f ${dir}/restarts ;;
  *) echo "$@" >>${dir}/calls ;;
esac || exit
case $1 in
  enable) touch ${dir}/enabled ;;
  start | restart) touch ${dir}/active ;;
  disable) rm -f ${dir}/enabled ${dir}/active ;;
esac`,
  };
}

async function runProgram([file = "", ...args]: string[], env: Record<string, string>): Promise<RunResult> {
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => stdout += chunk);
  child.stderr.setEncoding("utf8").on("data", (chunk) => stderr += chunk);
  const [code] = await once(child, "close") as [number | null];
  return { code, stdout, stderr };
}

async function listTree(root: string): Promise<string[]> {
  const names = (await readdir(root, { recursive: true })).sort();
  return await Promise.all(names.map(async (name) => {
    const path = join(root, name);
    const stat = await lstat(path);
    const digest = stat.isFile() ? createHash("sha256").update(await readFile(path)).digest("hex") : "";
    return `${name} ${(stat.mode & 0o777).toString(8)} ${digest.slice(0, 16)}`.trimEnd();
  }));
}
