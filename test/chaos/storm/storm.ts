/**
 * Runs a storm: rounds of faults over a real cluster, each followed by a pause in which all invariants are checked.
 *
 * A round has seven faults that start within 12 s and overlap. They come from a shuffled deck that holds the frequent ones two or
 * three times. Each agent has its own node name, state folder (tmpfs, 64 MiB), log folder (ext4, 64 MiB) and clock; it reaches the
 * API server through a gateway that can answer 429 and a proxy of its own that can cut, refuse or stall connections. Every app
 * writes to a witness file when it starts, gets SIGTERM or ends, and records each of its log lines in a file of its own.
 *
 * Guarantees: the same seed plans the same faults in the same order with the same choices. Some invariants are checked every
 * second, all of them after each round. The storm ends with the round in which one is broken. It leaves nothing behind.
 * Caveats: timing depends on the machine: the same seed gives the same storm, not the same race. Apps stay bound to their nodes,
 * so moves away from lost nodes are not tested.
 */
import { cp, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { EventRing } from "./events.ts";
import type { Fault, Storm } from "./fault.ts";
import { faults } from "./faults/list.ts";
import { always, atRest, soon } from "./invariants/list.ts";
import { noLeaks } from "./invariants/no-leaks.ts";
import { findCgroups } from "./gather.ts";
import { type KindName, mountVariable } from "./kinds.ts";
import { findLive } from "./live.ts";
import { startFleet } from "./fleet.ts";
import { planRound, type RoundShape } from "./plan.ts";
import { createRandom } from "../../random.ts";
import type { Summary } from "./report.ts";
import { calm, judgeRest } from "./rest.ts";
import { createTally } from "./tally.ts";
import { budgetHeld, partsLive, startWatchman } from "./watchman.ts";
import { readWitness } from "./witness.ts";
import { Workload } from "./workload.ts";
import { startWorld } from "./world.ts";

export interface StormOptions {
  seed: number;
  minutes: number;
  /** Where everything is written; the caller removes it. */
  folder: string;
  events: EventRing;
  ownDisks: boolean;
  /** The settling time: how long the cluster may take to reach the desired state. */
  convergeMs?: number;
  shape?: RoundShape;
  /** Only these faults. */
  only?: string[];
  /** Ends the storm after the current round. */
  signal?: AbortSignal;
}

const population: KindName[] = [
  ...["ticker", "ticker", "ticker", "writer", "writer", "daemon", "daemon", "brood", "brood"] as const,
  ...["port", "port", "port", "port", "always", "always", "never", "flaky"] as const,
];

/** Runs a storm. */
export async function runStorm(options: StormOptions): Promise<Summary> {
  const { seed, minutes, folder, events, ownDisks, convergeMs = 30_000 } = options;
  const { shape = { stepsPerRound: 7, spanMs: 12_000 } } = options;
  const started = Date.now();
  const stormId = `${process.pid}-${started}`;
  const witnessFile = join(folder, "witness");
  const linesDir = join(folder, "lines");
  await mkdir(linesDir, { recursive: true });
  await writeFile(witnessFile, "");

  events.add(`seed ${seed}: starting the world`);
  await using world = await startWorld({ folder, events, ownDisks });
  const possible = faults.filter(({ name }) => !options.only || options.only.includes(name));
  const skipped = possible.flatMap((fault) => {
    const why = fault.impossible?.(world);
    return why ? [`${fault.name}: ${why}`] : [];
  });
  const invariants = [...new Set([...always, ...soon, ...atRest])].map(({ name }) => name);
  const tally = createTally(possible.map(({ name }) => name), [...invariants, partsLive, budgetHeld]);
  const workload = new Workload(world.cluster, {
    STORM_ID: stormId,
    STORM_PID: String(process.pid),
    STORM_WITNESS: witnessFile,
    STORM_LINES: linesDir,
    ...(world.mount ? { [mountVariable]: world.mount.path } : {}),
  });
  await using fleet = await startFleet(world.cluster, stormId, world.nodes.map(({ name }) => name));
  const storm: Storm = { stormId, world, workload, fleet, events, filledLogs: new Set() };
  const sources = { ...storm, nodes: world.nodes, witnessFile, linesDir };

  let round = 0;
  const settled: number[] = [];
  const settle = async () => {
    await calm(storm);
    const took = await judgeRest(sources, tally, { round, convergeMs });
    settled.push(took);
    events.add(`round ${round}: at rest after ${took} ms, ${tally.violations.length} broken`);
  };
  const endWatch = startWatchman(storm, tally, () => round);
  try {
    const kinds: KindName[] = world.mount ? [...population, "mounted", "mounted"] : population;
    for (const kind of kinds) await workload.create(kind);
    await settle();
    // The start does not count: on a busy machine it could use up all the time.
    const deadline = Date.now() + minutes * 60_000;
    while (tally.violations.length === 0 && Date.now() < deadline && !options.signal?.aborted) {
      round++;
      const steps = planRound(seed, round - 1, possible, shape);
      const ended = await Promise.allSettled(steps.map(async (step) => {
        await pause(step.atMs);
        const fault = possible.find(({ name }) => name === step.fault) as Fault;
        if (fault.impossible?.(world)) return;
        tally.tried(fault.name);
        await fault.run(storm, createRandom(step.seed), (what) => events.add(`round ${round}: ${what}`));
      }));
      const failed = ended.find(({ status }) => status === "rejected");
      if (failed) {
        throw new Error("a fault could not be done or undone", {
          cause: (failed as PromiseRejectedResult).reason,
        });
      }
      await settle();
    }
  } finally {
    await endWatch();
    if (tally.violations.length > 0) await keepDisks(storm);
    events.add("the storm is over: deleting all apps");
    tally.checked(noLeaks.name, await removeAll(storm), round);
  }
  const runs = readWitness(await readFile(witnessFile, "utf8")).length;
  return {
    seed,
    minutes: (Date.now() - started) / 60_000,
    rounds: round,
    apps: workload.created,
    runs,
    slowestRestMs: Math.max(...settled),
    refused: world.gateway.refused(),
    skipped,
    faults: tally.faults,
    checks: tally.checks,
    violations: tally.violations,
  };
}

/** Makes the agents end every app, kills what remains, since nothing may outlive the storm, and returns it. */
async function removeAll({ world, workload, fleet, stormId }: Storm): Promise<string[]> {
  await workload.removeAll();
  await fleet.remove();
  const deadline = Date.now() + 30_000;
  const findAll = async () => [...await findLive(stormId), ...await fleet.live()];
  while ((await findAll()).length > 0 && Date.now() < deadline) await pause(250);
  await Promise.all(world.nodes.map(({ agent }) => agent.stop("SIGTERM")));
  const left = await findAll();
  for (const { pid } of left) process.kill(pid, "SIGKILL");
  for (const { stateDir } of world.nodes) {
    for (const folder of await findCgroups(stateDir)) await removeCgroups(folder);
  }
  return left.map(({ pid, name, run }) =>
    `process ${pid} of ${name}, run ${run}, lives when all apps are deleted`
  );
}

/** Removes the cgroups that an agent created, except those with live processes. */
async function removeCgroups(folder: string): Promise<void> {
  const below = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of below) if (entry.isDirectory()) await removeCgroups(join(folder, entry.name));
  await rmdir(folder).catch(() => {});
}

/** Copies the content of the small file systems, which vanish with the storm. */
async function keepDisks({ world }: Storm): Promise<void> {
  for (const { stateDir, logDir, disks } of world.nodes) {
    if (!disks) return;
    for (const path of [stateDir, logDir]) await cp(path, `${path}-kept`, { recursive: true });
  }
}
