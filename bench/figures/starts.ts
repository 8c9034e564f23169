/**
 * Many apps started at once, on this machine: the agent beside pm2 and supervisor, and beside a program that only forks.
 *
 * None of them sets limits here, since the peers cannot; the cost of a start with limits, beside systemd-run and the OCI runtimes, is
 * the benchmark `guest`. On a disk the files of a start count: ours creates eleven, so that a crash loses nothing. With
 * TMPDIR=/dev/shm they are in memory, and the figures are those of the programs.
 */
import { spawn } from "node:child_process";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { startLocalAgent } from "../local-agent.ts";
import { measureMachine, type WorkCost } from "../machine-cpu.ts";
import { type PeerDaemon, startPm2, startSupervisor } from "../process-peers.ts";
import { createStartedFiles } from "../started-files.ts";
import { median } from "../statistics.ts";

const apps = 200;
/** The speed of a machine changes from one second to the next: both are measured in turns, and their medians compared. */
const rounds = 7;

export const starts: Benchmark = {
  name: "starts",
  about:
    `${apps} apps given at once to a manager that runs already, without limits: until the last script has run its first ` +
    "line, and the CPU time of the whole machine meanwhile. The limit is a program that only forks and executes the same script.",
  needs: ["executable"],
  run: measure,
};

async function measure({ say }: Context): Promise<Figure[]> {
  say("the agent, and a program that only forks");
  const costs: { ours: WorkCost; bare: WorkCost }[] = [];
  for (let round = 0; round < rounds; round++) {
    costs.push({ ours: await startOurs(), bare: await startBare() });
  }
  const ours = medianCost(costs.map(({ ours }) => ours));
  const bare = medianCost(costs.map(({ bare }) => bare));
  const peers: { name: string; result: WorkCost | { missing: string } }[] = [];
  for (const [name, start] of [["pm2", startPm2], ["supervisor", startSupervisor]] as const) {
    say(name);
    peers.push({ name, result: await startPeer(start) });
  }
  const perStart = ({ cpuSeconds }: WorkCost) => cpuSeconds / apps * 1000;
  const figures = peers.flatMap(({ name, result }): Figure[] => {
    const isMissing = "missing" in result;
    return [
      {
        figure: `${apps} apps from nothing to all running`,
        ours: ours.seconds,
        unit: "s",
        asked: 5,
        peer: isMissing ? undefined : { what: name, value: result.seconds },
        limit: { what: "fork and exec", value: bare.seconds },
        note: isMissing ? result.missing : undefined,
      },
      {
        figure: "CPU time per start",
        ours: perStart(ours),
        unit: "ms",
        peer: isMissing ? undefined : { what: name, value: perStart(result) },
        limit: { what: "fork and exec", value: perStart(bare) },
        note: isMissing ? result.missing : undefined,
      },
    ];
  });
  return figures.sort((one, other) => one.unit < other.unit ? 1 : -1);
}

function medianCost(costs: WorkCost[]): WorkCost {
  return {
    cpuSeconds: median(costs.map(({ cpuSeconds }) => cpuSeconds)),
    seconds: median(costs.map(({ seconds }) => seconds)),
  };
}

async function startOurs(): Promise<WorkCost> {
  await using local = await startLocalAgent();
  return await measureMachine(async () => {
    await local.give(apps);
    await local.files.waitForAll(apps);
  });
}

async function startPeer(
  start: () => Promise<PeerDaemon | { missing: string }>,
): Promise<WorkCost | { missing: string }> {
  const peer = await start();
  if ("missing" in peer) return peer;
  await using daemon = peer;
  await using files = await createStartedFiles();
  return await measureMachine(async () => {
    await Promise.all([daemon.start(apps, files), files.waitForAll(apps, 300_000)]);
  });
}

async function startBare(): Promise<WorkCost> {
  await using files = await createStartedFiles();
  const children: ReturnType<typeof spawn>[] = [];
  try {
    return await measureMachine(async () => {
      for (let at = 0; at < apps; at++) {
        children.push(spawn(files.shellFile, [files.fileOf(`app-${at}`)], { stdio: "ignore" }));
      }
      await files.waitForAll(apps);
    });
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}
