/** Other process managers, each a running daemon that gets many apps at once. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { tempFolder } from "../test/temp-folder.ts";
import { must } from "../tools/command.ts";
import { waitFor } from "../test/wait-for.ts";
import { findPm2, findSupervisor, pathWithNode } from "./peers.ts";
import type { StartedFiles } from "./started-files.ts";

/** A manager that runs without apps. */
export interface PeerDaemon extends AsyncDisposable {
  pid: number;
  /** Starts `count` apps; resolves when the manager has accepted them, which may be before they run. */
  start(count: number, files: StartedFiles): Promise<void>;
}

/** Starts pm2's daemon, or returns why it is not available. */
export async function startPm2(): Promise<PeerDaemon | { missing: string }> {
  const found = await findPm2();
  if ("missing" in found) return found;
  const temp = tempFolder();
  const home = temp.path;
  const env = { PATH: pathWithNode(), PM2_HOME: home, HOME: home };
  const pm2 = (...words: string[]) => must(join(found.folder, "node_modules/.bin/pm2"), words, { env });
  await pm2("ping");
  return {
    pid: Number(await readFile(join(home, "pm2.pid"), "utf8")),
    async start(count, files) {
      const apps = names(count).map((name) => ({
        name,
        script: files.shellFile,
        args: [files.fileOf(name)],
        interpreter: "none",
      }));
      await writeFile(join(home, "apps.json"), JSON.stringify({ apps }));
      await pm2("start", join(home, "apps.json"));
    },
    async [Symbol.asyncDispose]() {
      await pm2("kill");
      temp.remove();
    },
  };
}

/** Starts supervisord, or returns why it is not available. */
export async function startSupervisor(): Promise<PeerDaemon | { missing: string }> {
  const found = await findSupervisor();
  if ("missing" in found) return found;
  const temp = tempFolder();
  const home = temp.path;
  const config = join(home, "supervisord.conf");
  const socket = join(home, "socket");
  const head =
    `[supervisord]\nnodaemon=true\nlogfile=${home}/log\npidfile=${home}/pid\nchildlogdir=${home}\n` +
    `[unix_http_server]\nfile=${socket}\n[supervisorctl]\nserverurl=unix://${socket}\n` +
    `[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n`;
  await writeFile(config, head);
  const env = { PATH: process.env.PATH, PYTHONPATH: join(found.folder, "usr/lib/python3/dist-packages") };
  const program = (name: string) => join(found.folder, "usr/bin", name);
  const daemon = spawn("python3", [program("supervisord"), "-c", config], { env, stdio: "ignore" });
  const control = (...words: string[]) =>
    must("python3", [program("supervisorctl"), "-c", config, ...words], { env });
  await waitFor("supervisord answers", () => control("pid").then(() => true, () => mustRun(daemon)));
  return {
    pid: daemon.pid ?? 0,
    async start(count, files) {
      const parts = names(count).map((name) =>
        `[program:${name}]\ncommand=${files.shellFile} ${files.fileOf(name)}\nstartsecs=0\n`
      );
      await writeFile(config, head + parts.join(""));
      await control("update");
    },
    async [Symbol.asyncDispose]() {
      const ended = once(daemon, "exit");
      daemon.kill("SIGTERM");
      await ended;
      temp.remove();
    },
  };
}

function mustRun(daemon: ChildProcess): false {
  if (daemon.exitCode !== null) throw new Error(`supervisord ended with code ${daemon.exitCode}`);
  return false;
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `app-${at}`);
}
