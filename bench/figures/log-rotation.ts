/**
 * 200 MB of numbered lines written at full speed by an app whose launcher rotates its log at 1 MiB, with followers: every number must
 * be there once, in the parts joined and for each follower, or there is no figure. The limit is the same lines written to a file
 * without a launcher and followers.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { silentLogger } from "../../src/lib/log.ts";
import { cleanPath } from "../../src/lib/shell.ts";
import { ZygoteLauncher } from "../../src/supervisor/launcher/launcher.ts";
import { listParts, readLog } from "../../src/supervisor/logs/logs.ts";
import { prepareMarks, readMarks } from "../../src/supervisor/run/run.ts";
import { builtLauncher } from "../../test/harness/launcher.ts";
import { createNumberCheck, numberLines, setLimits } from "../../test/supervisor/logs/log-files.ts";
import { tempFolder } from "../../test/temp-folder.ts";
import { waitFor } from "../../test/wait-for.ts";
import type { Benchmark, Figure } from "../benchmark.ts";

const megabytes = 200;
/** Lines of 100 bytes. */
const count = megabytes * 10_000;
const followers = 3;

export const logRotation: Benchmark = {
  name: "log-rotation",
  about:
    `${megabytes} MB of numbered lines at full speed under rotation at 1 MiB, with ${followers} followers: no line is lost or doubled.`,
  needs: [],
  run: measure,
};

async function measure(): Promise<Figure[]> {
  using temp = tempFolder();
  const folder = temp.path;
  const plain = performance.now();
  execFileSync("sh", ["-c", `${numberLines(count)} >'${folder}/plain'`]);
  const plainSeconds = (performance.now() - plain) / 1000;
  await rm(join(folder, "plain"));
  return describe(await rotateAll(folder), plainSeconds);
}

interface Rotated {
  writtenSeconds: number;
  cpuSeconds: number;
  parts: number;
}

async function rotateAll(folder: string): Promise<Rotated> {
  const [log, environment, mark, gate] = ["log", "environment", "run-1", "gate"].map((name) =>
    join(folder, name)
  );
  await mkdir(log!);
  await setLimits(log!, 2 ** 20, 1000);
  await writeFile(environment!, `export PATH='${cleanPath}'\n`);
  const launcher = new ZygoteLauncher({ path: await builtLauncher(), log: silentLogger });
  prepareMarks(mark!, dirname(mark!));
  const script = `until [ -e '${gate}' ]; do sleep 0.01; done; ${numberLines(count)}`;
  const context = { leaf: "", user: "", workingDir: "/", environment: environment! };
  await launcher.start({ mark: mark!, keeper: "", log: log!, context, command: ["sh", "-c", script] });
  await waitFor("its log", async () => (await listParts(log!)).length > 0);
  const started = performance.now();
  const cpu = process.cpuUsage();
  const signal = new AbortController().signal;
  const following = Array.from({ length: followers }, () => check(readLog(log!, { follow: true, signal })));
  await writeFile(gate!, "");
  await waitFor("its end", () => readMarks(mark!).exit, 600_000);
  const writtenSeconds = (performance.now() - started) / 1000;
  await Promise.all(following);
  const { user, system } = process.cpuUsage(cpu);
  await check(readLog(log!));
  launcher.close();
  return { writtenSeconds, cpuSeconds: (user + system) / 1e6, parts: (await listParts(log!)).length };
}

function describe({ writtenSeconds, cpuSeconds, parts }: Rotated, plainSeconds: number): Figure[] {
  return [
    {
      figure: `${megabytes} MB of log under rotation`,
      ours: megabytes / writtenSeconds,
      unit: "MB/s",
      better: "higher",
      limit: { what: "the writer alone", value: megabytes / plainSeconds },
      note: `every line once in ${parts} parts and for each of ${followers} followers`,
    },
    {
      figure: "CPU to follow and check 100 MB of log",
      ours: cpuSeconds / megabytes * 100,
      unit: "s",
      note: `the ${followers} followers and the check of every line are in it`,
    },
  ];
}

async function check(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const numbers = createNumberCheck();
  for await (const piece of pieces) if (numbers.add(piece) >= count) break;
  assert.equal(numbers.count(), count);
}
