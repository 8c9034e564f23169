/**
 * A supervisor on a temporary folder with real scripts, for tests: `await using node = await createTestNode(confinement)`.
 * Whatever a test leaves running is killed at its end.
 */
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import type { NCAppSpec } from "../../src/api/types.ts";
import { silentLogger } from "../../src/lib/log.ts";
import type { Confinement } from "../../src/supervisor/confinement/confinement.ts";
import type { Launcher } from "../../src/supervisor/launcher/launcher.ts";
import type { RunRef } from "../../src/supervisor/types.ts";
import { markPath, marksFolder } from "../../src/supervisor/layout.ts";
import { listMarkedRuns, waitForLauncher } from "../../src/supervisor/run/run.ts";
import { isAlive } from "../../src/supervisor/processes.ts";
import { Supervisor, type SupervisorOptions } from "../../src/supervisor/supervisor.ts";
import type { AppRecord, Phase } from "../../src/supervisor/types.ts";
import { openTestLauncher } from "../harness/launcher.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { appWith } from "./fixtures.ts";

export type TestNode = Awaited<ReturnType<typeof createTestNode>>;

export async function createTestNode(
  confinement: Confinement,
  { launchBy = openTestLauncher, ...options }: Partial<SupervisorOptions> & {
    launchBy?: (stateDir: string) => Promise<Launcher>;
  } = {},
) {
  const temp = tempFolder();
  const folder = temp.path;
  await chmod(folder, 0o755);
  // Tells the processes of this test from those of others that run at the same time.
  const nodeName = basename(folder).toLowerCase();
  const layout = {
    stateDir: join(folder, "state"),
    logDir: join(folder, "log"),
    privateDir: join(folder, "private"),
  };
  let launcher = await launchBy(layout.stateDir);
  const open = async () => {
    const supervisor = new Supervisor({
      layout,
      confinement,
      launcher,
      nodeName,
      enforce: "best-effort",
      logs: { maxBytes: 2 ** 20, maxFiles: 5 },
      log: silentLogger,
      resolveValue: async () => "resolved",
      fetchScript: async (url) => {
        throw new Error(`no download in this test: ${url}`);
      },
      ...options,
    });
    await supervisor.restore();
    return supervisor;
  };
  const runs = new Map<string, RunRef>();

  const node = {
    folder,
    layout,
    supervisor: await open(),
    /** What enters its runs. */
    get launcher() {
      return launcher;
    },
    /** Writes an executable script and returns its path. */
    async script(name: string, text: string): Promise<string> {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o755 });
      return path;
    },
    async assign(
      name: string,
      spec: NCAppSpec,
      fields: { uid?: string; annotations?: Record<string, string> } = {},
    ) {
      await node.supervisor.assign({
        app: appWith({ terminationGracePeriodSeconds: 5, ...spec }, { name, ...fields }),
        source: "test",
      });
    },
    record(name: string): AppRecord {
      const found = node.supervisor.get(`default/${name}`);
      if (!found) throw new Error(`no app ${name}`);
      return found.record;
    },
    /** Waits until the app is in the phase, and returns its record. */
    async reach(
      name: string,
      phase: Phase,
      also: (record: AppRecord) => boolean = () => true,
    ): Promise<AppRecord> {
      return await waitFor(
        () => `${name} ${phase}, it is ${JSON.stringify(node.supervisor.get(`default/${name}`)?.record)}`,
        () => {
          const record = node.supervisor.get(`default/${name}`)?.record;
          if (record?.run) {
            runs.set(record.run.id, {
              folder: `default_${name}`,
              runId: record.run.id,
              main: record.run.main,
              leaf: record.run.leaf,
            });
          }
          return record?.phase === phase && also(record) ? record : undefined;
        },
      );
    },
    async gone(name: string): Promise<void> {
      await waitFor(`${name} is forgotten`, () => node.supervisor.get(`default/${name}`) === undefined);
    },
    async log(name: string): Promise<string> {
      return await readFile(join(layout.logDir, `default_${name}`, "app.log"), "utf8").catch(() => "");
    },
    async logHas(name: string, text: string): Promise<string> {
      return await waitFor(`${text} in the log of ${name}`, async () => {
        const log = await node.log(name);
        return log.includes(text) ? log : undefined;
      });
    },
    /** The agent goes, as if killed: the apps stay. A new one takes over, with another confinement if one is given. */
    async restartAgent(
      whileDown: () => Promise<void> = async () => {},
      next = confinement,
    ): Promise<void> {
      await node.supervisor.close();
      launcher.close();
      await whileDown();
      confinement = next;
      launcher = await launchBy(layout.stateDir);
      node.supervisor = await open();
    },
    isAlive,
    /** How many runs of this node have a living process. */
    async livingRuns(): Promise<number> {
      const runs = (await findProcesses(nodeName)).map(({ variables }) =>
        variables.find((variable) => variable.startsWith("NCAPP_RUN="))
      );
      return new Set(runs).size;
    },
    nodeName,
    /** The command lines of the launchers and apps of this node: they name its folder, or have its name in their environment. */
    async commandLines(): Promise<string[]> {
      const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
      const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
      const all = await Promise.all(pids.map(async (pid) => {
        const [line, environment] = await Promise.all([read(pid, "cmdline"), read(pid, "environ")]);
        return {
          line,
          // What looks at paths ends with the agent.
          isOwn: line.includes(folder) && !line.includes("\0look\0") ||
            environment.split("\0").includes(`NODE_NAME=${nodeName}`),
        };
      }));
      return all.filter(({ isOwn }) => isOwn).map(({ line }) => line);
    },
    /** Waits until exactly so many runs live: a script shows its marker only once it has been executed. */
    async liveRuns(count: number): Promise<void> {
      await waitFor(`${count} living runs`, async () => await node.livingRuns() === count);
    },
    async [Symbol.asyncDispose]() {
      await node.supervisor.close();
      launcher.close();
      for (const run of runs.values()) await confinement.kill(run);
      await waitFor("leftovers are gone", async () => {
        const left = await findProcesses(nodeName);
        for (const { pid } of left) killIfThere(pid);
        return left.length === 0;
      });
      for (const run of runs.values()) await confinement.removeRun(run);
      // The last that a launcher does is to write down how its script ended.
      for (const runId of await listMarkedRuns(marksFolder(layout))) {
        await waitForLauncher(markPath(layout, runId), { timeoutMs: 60_000 });
      }
      temp.remove();
    },
  };
  return node;
}

/** The processes that apps of this node are made of, by the environment that they were given. */
async function findProcesses(nodeName: string): Promise<{ pid: number; variables: string[] }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map(async (pid) => {
    const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    return { pid: Number(pid), variables: text.split("\0") };
  }));
  return all.filter(({ variables }) => variables.includes(`NODE_NAME=${nodeName}`));
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
