/** The kinds of apps in a storm: what each runs, and what is to be expected of it. */
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
  | "hog"
  | "bomb";

export interface Kind {
  /** How it is at rest: it runs, it comes and goes, or it has ended for good. */
  rest: "runs" | "cycles" | "ends";
  /** The status of every end that is its own; the last one of a flaky app is 0. */
  code?: number;
  /** How many runs it takes until it has ended for good. */
  runs?: number;
  spec: NCAppSpec;
  annotations?: Record<string, string>;
}

/** The one host port that more apps want than there are nodes. */
export const contestedPort = 18_080;

const apps = fileURLToPath(new URL("./apps", import.meta.url));
const script = (name: string, ...args: string[]) => ({ shellFile: join(apps, `${name}.sh`), args });

/** So short that an app that has ended is back within the time that all have to come to rest. */
const quick = { backoffSeconds: 1, maxBackoffSeconds: 4, terminationGracePeriodSeconds: 3 };
/**
 * An app stays bound to a node that is lost: otherwise two instances would be right for as long as the lost node is cut off, and
 * nobody could tell a mistake from that.
 */
const stays = { tolerations: [{ operator: "Exists" as const }] };

export const kinds: Record<KindName, Kind> = {
  ticker: { rest: "runs", spec: { ...script("ticker"), cpuPCT: "5", memPCT: "2" } },
  // Long enough lines that its log is rotated while the storm lasts.
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
  // These two need a kernel that holds them back.
  hog: { rest: "ends", runs: 1, spec: { ...script("hog"), memPCT: "5", restartPolicy: "Never" } },
  bomb: { rest: "runs", spec: { ...script("bomb"), cpuPCT: "20", pidsMax: 40 } },
};

/** The whole spec of an app of this kind, with what a witness needs. */
export function specOf(kind: KindName, witness: Record<string, string>): NCAppSpec {
  const env = Object.entries(witness).map(([name, value]) => ({ name, value }));
  return { ...quick, ...stays, ...kinds[kind].spec, env };
}
