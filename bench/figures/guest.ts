/**
 * Figures that need cgroup v2 and systemd, on a Debian machine in User-Mode Linux: the start of apps under limits compared with
 * `systemd-run --scope`, crun and runc, how exactly a CPU cap holds, and how fast a changed cap takes effect.
 *
 * Caveat: processes start twenty times slower there than on real hardware, and there is one CPU. So only ratios hold, and the CPU
 * time of a start says more than its wall time, which includes the polling of the measuring script.
 */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { quote } from "../../test/harness/shell-quote.ts";
import { inSystemdGuest } from "../../test/harness/systemd-guest.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { findRuntimes, type Peer } from "../peers.ts";
import { median } from "../statistics.ts";

const apps = 10;
const capPCT = 20;

export const guest: Benchmark = {
  name: "guest",
  about:
    `On a Debian machine with systemd and cgroup v2, in User-Mode Linux: ${apps} apps started at once under limits, the error of a ` +
    "CPU cap, and the time until a changed cap is in force.",
  needs: ["executable", "systemd-guest"],
  run: measure,
};

async function measure({ executable, say }: Context): Promise<Figure[]> {
  const runtimes = await findRuntimes();
  say("booting");
  const { output } = await inSystemdGuest(await guestScript(executable, runtimes), {
    files: nodeLibraries(),
    timeoutMs: 380_000,
  });
  return describe(readLines(output), runtimes, output);
}

async function guestScript(executable: string, runtimes: Peer): Promise<string> {
  const folders = [dirname(executable), ...("folder" in runtimes ? [runtimes.folder] : [])];
  return [
    ...folders.map((folder) =>
      `mkdir -p ${quote(folder)} && mount -r -t hostfs -o ${quote(folder)} host ${quote(folder)} || exit 1`
    ),
    "ldconfig",
    `export PROGRAM=${quote(executable)} COUNT=${apps} RUNTIMES=${
      quote("folder" in runtimes ? runtimes.folder : "")
    }`,
    await readFile(fileURLToPath(new URL("../guest.sh", import.meta.url)), "utf8"),
  ].join("\n");
}

/** `KEY VALUE` lines, several values to a key. */
function readLines(output: string): Map<string, number[]> {
  const values = new Map<string, number[]>();
  for (const [, key = "", value] of output.matchAll(/^([a-z-]+) (\d+)\r?$/gm)) {
    values.set(key, [...(values.get(key) ?? []), Number(value)]);
  }
  return values;
}

function describe(values: Map<string, number[]>, runtimes: Peer, output: string): Figure[] {
  const one = (key: string) => values.get(key)?.[0];
  const why = (name: string) =>
    new RegExp(`^missing ${name} (.*)$`, "m").exec(output)?.[1] ??
      ("missing" in runtimes
        ? runtimes.missing
        : `no such line from the guest; it ended with ${output.trim().slice(-200)}`);
  const resizes = values.get("resize-us") ?? [];
  const properties = values.get("set-property-us") ?? [];
  const cap = one("cap-ppm");
  return [
    ...["systemd-run", "crun", "runc"].flatMap((name) =>
      ([["cpu", "CPU time"], ["wall", "time"]] as const).map(([kind, title]): Figure => {
        const [ours, peer] = [one(`ours-${kind}-ms`), one(`${name}-${kind}-ms`)];
        return {
          figure: `start under limits in a guest, ${title} per app`,
          ours: ours === undefined ? undefined : ours / apps,
          unit: "ms",
          peer: peer === undefined ? undefined : { what: name, value: peer / apps },
          note: ours === undefined ? why("ours") : peer === undefined ? `${name}: ${why(name)}` : undefined,
        };
      })
    ).sort((one, other) => one.figure < other.figure ? -1 : one.figure > other.figure ? 1 : 0),
    {
      figure: `CPU cap of ${capPCT}%, error`,
      ours: cap === undefined ? undefined : Math.abs(cap / 10_000 - capPCT) / capPCT * 100,
      unit: "%",
      asked: 5,
      note: cap === undefined ? why("cap") : `a busy loop got ${(cap / 10_000).toFixed(2)}% in ten seconds`,
    },
    {
      figure: "live resize, from the changed manifest to the kernel's new cap, median",
      ours: resizes.length === 0 ? undefined : median(resizes) / 1000,
      unit: "ms",
      peer: properties.length === 0
        ? undefined
        : { what: "systemctl set-property", value: median(properties) / 1000 },
      note: resizes.length === 0
        ? why("resize")
        : `${resizes.length} changes of a file in the manifest folder; the app is not restarted. In the guest, which is slow`,
    },
  ];
}

/** Node is linked against libatomic, which a minimal Debian lacks. */
function nodeLibraries(): Record<string, string> {
  const known = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const libatomic = /libatomic\.so\.1 .*=> (.*)/.exec(known)?.[1];
  return libatomic ? { "/usr/local/lib/libatomic.so.1": libatomic } : {};
}
