/**
 * A supervisor in a separate process that starts one app and stops it again, and kills itself at the n-th point before or
 * after an effect. Arguments: folder, script, n (0: never), what to do: "cycle" (start, then stop) or "start" (start and leave),
 * and the kind of launcher.
 * Prints the number of points that it passed.
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { createLogger } from "../../src/lib/log.ts";
import { chooseConfinement } from "../../src/agent/choose-confinement.ts";
import { instanceName } from "../../src/cli/config/config.ts";
import type { RunnerDeps } from "../../src/supervisor/runner/runner.ts";
import { Supervisor } from "../../src/supervisor/supervisor.ts";
import { openTestLauncher } from "../harness/launcher.ts";
import { appWith } from "../supervisor/fixtures.ts";

const [folder = "", shellFile = "", at = "0", work = "cycle"] = process.argv.slice(2);
const effects = [
  "save",
  "startRun",
  "cancel",
  "runStopFile",
  "terminate",
  "kill",
  "cleanUp",
  "ensureCaps",
  "forget",
] as const;
let moments = 0;

function moment(): void {
  if (++moments === Number(at)) process.kill(process.pid, "SIGKILL");
}

function decorate(deps: RunnerDeps): RunnerDeps {
  const wrapped: Record<string, unknown> = { ...deps };
  for (const name of effects) {
    const effect = deps[name] as (...args: unknown[]) => Promise<unknown>;
    wrapped[name] = async (...args: unknown[]) => {
      moment();
      const result = await effect(...args);
      moment();
      return result;
    };
  }
  return wrapped as unknown as RunnerDeps;
}

const log = createLogger({ level: "error", write: (line) => console.error(line) });
const { confinement } = await chooseConfinement({
  instance: instanceName(folder),
  size: { cpus: 1, memoryBytes: 2 ** 30 },
  log,
});
const launcher = await openTestLauncher(`${folder}/state`);
const supervisor = new Supervisor({
  launcher,
  layout: { stateDir: `${folder}/state`, logDir: `${folder}/log`, privateDir: `${folder}/private` },
  confinement,
  nodeName: "chaos",
  enforce: "best-effort",
  logs: { maxBytes: 2 ** 20, maxFiles: 2 },
  log,
  resolveValue: async () => undefined,
  fetchScript: async () => "",
  decorate,
});

await supervisor.restore();
await supervisor.assign({ app: appWith({ shellFile, terminationGracePeriodSeconds: 1 }), source: "test" });
while (supervisor.get("default/web")?.record.phase !== "Running") await pause(5);
if (work === "cycle") {
  supervisor.withdraw("default/web");
  while (supervisor.get("default/web")) await pause(5);
}
await supervisor.close();
launcher.close();
console.log(moments);
