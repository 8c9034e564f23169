/** The kinds of apps in a storm: what each runs, and its expected behavior. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";

export type KindName =
  | "ticker"
  | "writer"
  | "daemon"
  | "brood"
  | "port"
  | "always"
  | "never"
  | "flaky"
  | "mounted"
  | "hog"
  | "bomb";

export interface Kind {
  /** Its settled state: it runs, it cycles, or it has ended for good. */
  rest: "runs" | "cycles" | "ends";
  /** Its exit status when it ends by itself; the last one of a flaky app is 0. */
  code?: number;
  /** The number of runs until it has ended for good. */
  runs?: number;
  spec: NCAppSpec;
  annotations?: Record<string, string>;
}

/** The one host port that more apps want than nodes exist. */
export const contestedPort = 18_080;

/** The variable that names the mount that hangs. */
export const mountVariable = "STORM_MOUNT";

const apps = fileURLToPath(new URL("./apps", import.meta.url));
const script = (name: string, ...args: string[]) => ({ shellFile: join(apps, `${name}.sh`), args });

/** Short enough that an app restarts within the settling time. */
const quick = { backoffSeconds: 1, maxBackoffSeconds: 4, terminationGracePeriodSeconds: 3 };
/**
 * An app stays bound to a lost node: otherwise two instances would be legitimate while the lost node is cut off, and a violation
 * could not be told apart.
 */
const stays = { tolerations: [{ operator: "Exists" as const }] };

export const kinds: Record<KindName, Kind> = {
  ticker: { rest: "runs", spec: { ...script("ticker"), cpuPCT: "5", memPCT: "2" } },
  // The lines are long enough that the log rotates during the storm.
  writer: {
    rest: "runs",
    spec: script("ticker", "20", ` ${"x".repeat(150)}`),
    annotations: { [annotations.logMaxSize]: "64Ki", [annotations.logMaxFiles]: "1000" },
  },
  daemon: { rest: "runs", spec: { ...script("daemon"), cpuPCT: "5" } },
  brood: { rest: "runs", spec: script("brood") },
  // Three of them fill a node: shares are as scarce as the port.
  port: {
    rest: "runs",
    spec: {
      ...script("ticker"),
      cpuPCT: "30",
      ports: [{ port: contestedPort }],
    },
  },
  always: { rest: "cycles", code: 7, spec: script("ender", "7", "3") },
  never: { rest: "ends", code: 9, runs: 1, spec: { ...script("ender", "9", "4"), restartPolicy: "Never" } },
  flaky: { rest: "ends", code: 3, runs: 3, spec: { ...script("flaky", "3"), restartPolicy: "OnFailure" } },
  // Its folder is on the mount that hangs.
  mounted: { rest: "runs", spec: script("ticker") },
  // These two need a kernel that limits them.
  hog: { rest: "ends", runs: 1, spec: { ...script("hog"), memPCT: "5", restartPolicy: "Never" } },
  bomb: { rest: "runs", spec: { ...script("bomb"), cpuPCT: "20", pidsMax: 40 } },
};

/** Returns the spec of an app of this kind, with the environment that its witness needs. */
export function specOf(kind: KindName, witness: Record<string, string>): NCAppSpec {
  const env = Object.entries(witness).map(([name, value]) => ({ name, value }));
  const workingDir = kind === "mounted" ? { workingDir: witness[mountVariable] } : {};
  return { ...quick, ...stays, ...kinds[kind].spec, ...workingDir, env };
}
