/** Text from the kernel: cgroup files, /proc, and small system tables. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseCpuStat } from "../../../cgroups/limits/cpu.ts";
import { parseMemoryEvents } from "../../../cgroups/limits/memory.ts";
import { explainMissing, findMount, inMount, ownCgroup } from "../../../cgroups/locate/mounts.ts";
import { parseAmount, parseFlat } from "../../../cgroups/parse.ts";
import { listProcesses, readStats } from "../../../cgroups/mod.ts";
import { nodeAddresses } from "../../../src/node/addresses.ts";
import { prettyName } from "../../../src/node/facts.ts";
import { parseCpuTimes, parseMemory, parsePressure, parseThreads } from "../../../src/node/proc.ts";
import { findIdentity } from "../../../src/supervisor/identity/identity.ts";
import { parseGroup, parsePasswd } from "../../../src/supervisor/identity/passwd.ts";
import { parseStat } from "../../../src/supervisor/processes.ts";
import { holds, type Session, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";
import { scratchFolder } from "./scratch.ts";

const fixtures = fileURLToPath(new URL("../../cgroups/fixtures/", import.meta.url));
const fixture = (path: string) => readFileSync(join(fixtures, path), "latin1");
const stats = [
  "cgroup.events",
  "cpu.max",
  "cpu.stat",
  "memory.events",
];

const cgroupFiles: Target = {
  name: "cgroup-files",
  covers: [
    "parseFlat",
    "parseAmount",
    "parseCpuStat",
    "parseMemoryEvents",
  ],
  samples: [...stats.map((file) => fixture(`stats/${file}`)), "max\n", "4096"],
  tokens: ["max", "=", " ", "\n", "usage_usec", "oom_kill"],
  refusal: { name: "CgroupError", says: / in a\/file/, maxLength: 700 },
  open: () => ({
    run(input) {
      const text = textOf(input);
      const parsers = [
        parseFlat,
        parseAmount,
        parseCpuStat,
        parseMemoryEvents,
      ];
      let refused: unknown;
      for (const parse of parsers) {
        try {
          noNaN(parse(text, "a/file"));
        } catch (error) {
          if ((error as Error).name !== "CgroupError") throw error;
          refused = error;
        }
      }
      if (refused) throw refused;
    },
  }),
};

const cgroupFolder: Target = {
  name: "cgroup-folder",
  covers: ["readStats", "readTextIfAny", "readProcs", "listProcesses"],
  samples: [
    "1\n23\n456\n",
    "0\n",
    fixture("stats/cpu.stat"),
    fixture("stats/memory.events"),
  ],
  tokens: ["\n", "0", "-1", "max"],
  refusal: { name: "CgroupError", says: /\/(cpu|memory)\./, maxLength: 700 },
  open(): Session {
    const folder = scratchFolder("cgroup");
    let turn = 0;
    const files = ["cpu.stat", "memory.current", "memory.events"];
    for (const file of files) writeFileSync(join(folder, file), "");
    return {
      run(input) {
        const file = files[turn++ % files.length]!;
        writeFileSync(join(folder, "cgroup.procs"), input);
        for (const pid of listProcesses(folder)) holds(pid > 0, `process ${pid}`);
        writeFileSync(join(folder, file), input);
        try {
          noNaN(readStats(folder));
        } finally {
          writeFileSync(join(folder, file), file.endsWith("current") ? "0" : "");
        }
      },
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

const mounts: Target = {
  name: "mounts",
  covers: ["findMount", "ownCgroup", "inMount", "explainMissing"],
  samples: ["unified", "hybrid", "container", "bind-mount", "v1-only", "user-session"].map((name) =>
    `${fixture(`${name}/mountinfo`)}\0${fixture(`${name}/self-cgroup`)}\0${fixture(`${name}/proc-cgroups`)}`
  ),
  tokens: [
    ..."cgroup2 cgroup 0::/ 0::/.. ro rw /sys/fs/cgroup memory".split(" "),
    " - ",
    "\\040",
    "\\134",
    "\t",
  ],
  open: () => ({
    run(input) {
      const [mountinfo = "", self = "", cgroups = ""] = textOf(input).split("\0");
      for (const under of [undefined, "/sys/fs/cgroup/x"]) {
        const found = findMount(mountinfo, { sysRoot: "/sys/fs/cgroup", under });
        if (!found.ok) continue;
        const own = ownCgroup(self, found.mount);
        holds(
          own === undefined || own.startsWith(found.mount.point),
          `the own cgroup ${own} is not in the mount`,
        );
        inMount("/a/b", found.mount);
      }
      explainMissing("/sys/fs/cgroup/x", ["cpu", "memory"], {
        isTop: false,
        procCgroups: cgroups,
        mountinfo,
      });
    },
  }),
};

const procSamples = [
  "cpu  100 2 30 4000 5 6 7 8 0 0\ncpu0 1 2 3 4\n",
  "MemTotal:       24682416 kB\nMemFree: 1 kB\nMemAvailable:   23475248 kB\n",
  "some avg10=0.00 avg60=1.50 avg300=0.02 total=123\nfull avg10=0.10 avg60=0.00 avg300=0.00 total=9\n",
  "0.00 0.01 0.05 1/234 5678\n",
  "42 (my (app) x) S 1 42 42 0 -1 4194304 1 0 0 0 12 3 4 5 20 0 1 0 998877 1000 100 18446744073709551615",
];

const procFiles: Target = {
  name: "proc-files",
  covers: ["parseCpuTimes", "parseMemory", "parsePressure", "parseThreads", "parseStat"],
  samples: procSamples,
  tokens: [" (", ") ", "kB", "MemTotal:", "MemAvailable:", "avg10=", "some", "full", "cpu ", "/", "\n"],
  refusal: { name: "Error", says: /\/proc\/meminfo|CPU times/ },
  open: () => ({
    run(input) {
      const text = textOf(input);
      noNaN(parseThreads(text));
      noNaN(parsePressure(text));
      const stat = parseStat(text);
      noNaN(stat);
      holds(stat === undefined || (Number.isSafeInteger(stat.pid) && stat.pid >= 0), `process ${stat?.pid}`);
      let refused: unknown;
      for (const parse of [parseCpuTimes, parseMemory]) {
        try {
          noNaN(parse(text));
        } catch (error) {
          refused = error;
        }
      }
      if (refused) throw refused;
    },
  }),
};

const systemTables: Target = {
  name: "system-tables",
  covers: ["prettyName", "nodeAddresses", "findIdentity"],
  samples: [
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian"\nID=debian\n',
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\n",
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe80 00000064 0 0 3 eth0\n",
    "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33:www:/var/www:/bin/false\n#c\nstaff:x:50:www,root\n",
  ],
  tokens: ["www", ":", "PRETTY_NAME=", "eth0", "00000000", "\t", "\n", "33"],
  refusal: { name: "StartError", says: /^spec\.runAs(User|Group): / },
  open: () => ({
    run(input) {
      const text = textOf(input);
      prettyName(text);
      const card = [{ address: "10.0.0.1", family: "IPv4" as const, internal: false }];
      holds(nodeAddresses({ eth0: card, lo: [] }, text, text).length === 1, "the one address is lost");
      noNaN(findIdentity({ users: parsePasswd(text), groups: parseGroup(text) }, "www", "staff"));
    },
  }),
};

export const kernelTargets: readonly Target[] = [cgroupFiles, cgroupFolder, mounts, procFiles, systemTables];

/** NaN would spread into every sum. */
function noNaN(value: unknown): void {
  if (typeof value === "number") holds(!Number.isNaN(value), "a figure is NaN");
  else if (typeof value === "object" && value !== null) {
    for (const part of Object.values(value)) {
      noNaN(part);
    }
  }
}
