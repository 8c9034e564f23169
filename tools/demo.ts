/**
 * `npm start`: runs the examples with a standalone agent and shows a table that refreshes on a terminal. Everything is in one
 * temporary folder; Ctrl-C stops the apps and removes it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { AgentView } from "../src/server/view.ts";
import { startAgent } from "../src/agent/agent.ts";
import { instanceName } from "../src/cli/config/config.ts";
import { appTable } from "../src/cli/screen/screen.ts";
import { createLogger, describeError } from "../src/lib/log.ts";
import { version } from "../src/lib/version.ts";
import { currentLauncher } from "./build/launcher.ts";
import { layOut, type Screen } from "./demo/screen.ts";

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const manifests = join(checkout, process.argv[2] ?? "examples");
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stopping.abort());
// The reader of the output is gone.
process.stdout.on("error", () => stopping.abort());
const isTerminal = process.stdout.isTTY === true;
const folder = await mkdtemp(join(tmpdir(), "nckubelet-demo-"));

try {
  await runDemo();
} catch (error) {
  console.error(`nckubelet: ${describeError(error)}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function runDemo(): Promise<void> {
  await currentLauncher();
  const notes: string[] = [];
  const note = (line: string) => void (isTerminal ? notes.push(line) : console.log(line));
  const agent = await startAgent({
    version,
    nodeName: "demo",
    stateDir: join(folder, "state"),
    logDir: join(folder, "log"),
    socket: join(folder, "nckubelet.sock"),
    listen: await freeAddress(),
    manifests,
    standalone: true,
    registerNode: "never",
    pods: "never",
    reserved: { cpuPCT: 0, memPCT: 0 },
    enforce: "best-effort",
    logs: { maxBytes: 2 ** 20, maxFiles: 3 },
    syncPeriodMs: 10_000,
    reportPeriodMs: 2000,
    maxApps: 1000,
    stopAppsOnExit: true,
    stopTimeoutMs: 60_000,
    instance: instanceName(folder),
    env: {},
    log: createLogger({ level: "warn", write: note }),
  });
  const head = headLines(agent.view, agent.dashboardURL() ?? "");
  if (!isTerminal) console.log(head.join("\n"));
  let shownPhases = "";
  while (!stopping.signal.aborted) {
    const table = tableLines(agent.view);
    if (isTerminal) {
      drawScreen({ head, table, news: notes });
    } else if (phases(agent.view) !== shownPhases) console.log(["", ...table].join("\n"));
    shownPhases = phases(agent.view);
    await wait(1000, undefined, { signal: stopping.signal }).catch(() => {});
  }
  console.log("\nStopping the apps …");
  await agent.close();
  console.log("All apps are stopped; nothing is left behind.");
}

function headLines(view: AgentView, url: string): string[] {
  return [
    `NC-Kubelet ${version}, standalone, running ${manifests}; Ctrl-C stops the apps and leaves nothing behind`,
    `Dashboard    ${url}`,
    `Logs         ${join(folder, "log")}/NAMESPACE_NAME/app.log`,
    `Commands     ${join(checkout, "tools", "nckubelet")} --socket ${join(folder, "nckubelet.sock")} ps`,
    view.limits.enforced
      ? "Limits       enforced by cgroup v2"
      : `Limits       NOT enforced, apps run without their caps: ${view.limits.message}`,
  ];
}

function tableLines(view: AgentView): string[] {
  const apps = view.apps().map(({ app, status }) => ({ ...app, status }));
  const problems = view.problems().map(({ message }) => `! ${message}`);
  return [
    ...(apps.length > 0 ? appTable(apps, { now: Date.now() }) : ["No apps yet."]),
    ...(problems.length > 0 ? ["", ...problems] : []),
  ];
}

function phases(view: AgentView): string {
  return view.apps().map(({ app, status }) => `${app.metadata.name}=${status.phase}/${status.restarts}`)
    .join() +
    view.problems().length;
}

function drawScreen(screen: Screen): void {
  const { columns = 80, rows = 24 } = process.stdout;
  const lines = layOut(screen, { columns, rows });
  process.stdout.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\n")}\x1b[J`);
}

/** The default port, or a free one if it is taken. */
async function freeAddress(): Promise<string> {
  const { createServer } = await import("node:net");
  const defaultPort = 10268;
  return await new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve("127.0.0.1:0"));
    probe.listen(defaultPort, "127.0.0.1", () => probe.close(() => resolve(`127.0.0.1:${defaultPort}`)));
  });
}
