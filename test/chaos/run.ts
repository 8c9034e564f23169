/**
 * Runs a storm of faults over a real cluster and checks its invariants: see docs/reliability.md.
 *
 * Usage: node test/chaos/run.ts [--minutes N] [--seed S] [--json FILE] [--only FAULT]... [--keep]
 *   --minutes N   duration of the faults; the current round is finished (10)
 *   --seed S      the same seed plans the same faults (default: the clock)
 *   --json FILE   writes the summary there
 *   --only FAULT  only this fault; repeatable
 *   --keep        keeps the folder with logs and states even on success
 *
 * Exit code 0: no invariant is broken; 1: one is, and the seed and the last events are printed; 2: the storm could not run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { builtLauncher } from "../harness/launcher.ts";
import { tempFolder } from "../temp-folder.ts";
import { createEvents } from "./storm/events.ts";
import { faults } from "./storm/faults/list.ts";
import { describe, describeFailure } from "./storm/report.ts";
import { runStorm } from "./storm/storm.ts";

/** Set in the process that has its own mount namespace. */
const inside = "NCKUBELET_STORM_INSIDE";

async function main(words: string[]): Promise<number> {
  const settings = readSettings(words);
  // In its own mount namespace the storm leaves nothing mounted, however it ends.
  const canMount = process.getuid?.() === 0;
  if (canMount && process.env[inside] === undefined) return await enterNamespace(settings);
  const { minutes, seed, json, keep, only } = settings;
  await builtLauncher();
  const { path: folder, remove } = tempFolder();
  const events = createEvents({ file: join(folder, "events.txt"), print: console.log });
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      events.add(`${name}: the storm ends with this round`);
      stopping.abort();
    });
  }
  const { signal } = stopping;
  const summary = await runStorm({ minutes, seed, folder, events, ownDisks: canMount, only, signal }).catch(
    async (error) => {
      console.log(describeFailure(seed, folder, events.last()).join("\n"));
      throw error;
    },
  );
  console.log(describe(summary).join("\n"));
  if (json !== undefined) await writeFile(json, `${JSON.stringify(summary, null, 2)}\n`);
  const isGood = summary.violations.length === 0;
  if (!isGood) console.log(describeFailure(seed, folder, events.last()).join("\n"));
  else if (!keep) remove();
  return isGood ? 0 : 1;
}

function readSettings(words: string[]) {
  const { values } = parseArgs({
    args: words,
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      json: { type: "string" },
      only: { type: "string", multiple: true },
      keep: { type: "boolean", default: false },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0)) throw new Error(`--minutes ${JSON.stringify(values.minutes)}: not a number over 0`);
  if (!Number.isSafeInteger(seed)) {
    throw new Error(`--seed ${JSON.stringify(values.seed)}: not a whole number`);
  }
  const unknown = values.only?.find((name) => !faults.some((fault) => fault.name === name));
  if (unknown !== undefined) {
    const names = faults.map(({ name }) => name).join(", ");
    throw new Error(`--only ${JSON.stringify(unknown)}: not a fault; there are ${names}`);
  }
  return { ...values, minutes, seed };
}

async function enterNamespace({ seed }: { seed: number }): Promise<number> {
  const script = process.argv[1] ?? "";
  const command = [process.execPath, script, ...process.argv.slice(2), "--seed", String(seed)];
  const child = spawn("unshare", [
    "--mount",
    "--propagation",
    "private",
    "setpriv",
    "--pdeathsig",
    "TERM",
    ...command,
  ], {
    stdio: "inherit",
    env: { ...process.env, [inside]: "1" },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, "exit") as [number | null];
  return code ?? 2;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`chaos: ${error.stack}`);
  return 2;
});
