import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NCApp } from "../../../src/api/types.ts";
import type { Evidence, NodeEvidence } from "./evidence.ts";
import { agentsReady } from "./invariants/agents-ready.ts";
import { converged } from "./invariants/converged.ts";
import { exitCodes } from "./invariants/exit-codes.ts";
import { logLines } from "./invariants/log-lines.ts";
import { noLeaks } from "./invariants/no-leaks.ts";
import { notOversold } from "./invariants/not-oversold.ts";
import { oneInstance, rivals } from "./invariants/one-instance.ts";
import { stoppedForAReason } from "./invariants/stopped-for-a-reason.ts";
import type { KindName } from "./kinds.ts";
import type { StormApp } from "./ledger.ts";
import type { LiveProcess } from "./live.ts";
import { createTally } from "./tally.ts";
import { readWitness, type Story } from "./witness.ts";

const evidence = (part: Partial<Evidence>): Evidence => ({
  objects: [],
  apps: [],
  past: [],
  live: [],
  stories: [],
  nodes: [],
  lines: new Map(),
  ...part,
});
const node = (part: Partial<NodeEvidence> = {}): NodeEvidence => ({
  name: "n1",
  readiness: "ok",
  log: "",
  appLogs: new Map(),
  logsWereFull: false,
  traces: [],
  ...part,
});
const live = (part: Partial<LiveProcess> = {}): LiveProcess => ({
  pid: 1,
  startTime: "1",
  uid: "u1",
  name: "a",
  run: "r1",
  node: "n1",
  ...part,
});
const app = (kind: KindName, part: Partial<StormApp> = {}): StormApp => ({
  name: "a",
  kind,
  uid: "u1",
  asks: [],
  suspended: false,
  ...part,
});
const story = (part: Partial<Story> = {}): Story => ({
  run: "r1",
  uid: "u1",
  name: "a",
  node: "n1",
  began: 100,
  termed: false,
  left: false,
  ...part,
});
const object = (spec: object = {}, status: object = {}, name = "a", uid = "u1") =>
  ({ metadata: { name, uid }, spec: { nodeName: "n1", ...spec }, status }) as NCApp;

describe("at most one instance", () => {
  test("several processes of one run are one instance", () => {
    assert.deepEqual(oneInstance.judge(evidence({ live: [live(), live({ pid: 2 })] })), []);
  });
  test("two runs of a uid are two instances, on one node or on two", () => {
    const two = [live(), live({ pid: 2, run: "r2", node: "n2" })];
    assert.match(oneInstance.judge(evidence({ live: two })).join(), /uid u1 lives more than once: r1.*r2/);
    assert.equal(rivals(two).length, 2);
  });
  test("a successor of the same name next to the old app is a violation on one node only", () => {
    const heir = live({ pid: 2, run: "r2", uid: "u2" });
    assert.match(oneInstance.judge(evidence({ live: [live(), heir] })).join(), /app a on n1/);
    assert.deepEqual(oneInstance.judge(evidence({ live: [live(), { ...heir, node: "n2" }] })), []);
  });
});

describe("no port or share oversold", () => {
  const web = (name: string, more: object = {}) => object({ ports: [{ port: 80 }], ...more }, {}, name, name);
  test("two apps may have one port on two nodes, but not on one", () => {
    assert.deepEqual(notOversold.judge(evidence({ objects: [web("a"), web("b", { nodeName: "n2" })] })), []);
    const twice = notOversold.judge(evidence({ objects: [web("a"), web("b")] }));
    assert.deepEqual(twice, ["n1 gave port TCP 80 to a, b"]);
  });
  test("an app that ended holds no port", () => {
    const ended = object({ ports: [{ port: 80 }] }, { phase: "Succeeded" }, "b", "b");
    assert.deepEqual(notOversold.judge(evidence({ objects: [web("a"), ended] })), []);
  });
  test("a process that lives holds its port and its share, whatever became of its object", () => {
    const apps = [{ ...app("port"), uid: "u1" }];
    const past = [{ ...app("port"), uid: "u2" }];
    const both = [live(), live({ uid: "u2", name: "b", run: "r2", pid: 2 })];
    assert.match(notOversold.judge(evidence({ apps, past, live: both })).join(), /n1 gave port TCP 18080 to/);
    const apart = [live(), live({ uid: "u2", node: "n2" })];
    assert.deepEqual(notOversold.judge(evidence({ apps, past, live: apart })), []);
  });
  test("more than 100 percent of a share is a violation", () => {
    const half = (name: string) => object({ cpuPCT: "50" }, {}, name, name);
    assert.deepEqual(notOversold.judge(evidence({ objects: [half("a"), half("b")] })), []);
    const three = notOversold.judge(evidence({ objects: [half("a"), half("b"), half("c")] }));
    assert.deepEqual(three, ["n1 has given 150 of 100 points of cpuPCT"]);
  });
});

describe("no app stopped without a reason", () => {
  const stopped = { stories: [story({ termed: true })], nodes: [node()] };
  test("a run that is alive, or ended by itself, needs no reason", () => {
    const stories = [story(), story({ run: "r2", end: 3 })];
    assert.deepEqual(
      stoppedForAReason.judge(evidence({ stories, apps: [app("ticker")], live: [live()] })),
      [],
    );
  });
  test("a run that ended without a request to stop is a violation", () => {
    const complaints = stoppedForAReason.judge(evidence({ ...stopped, apps: [app("ticker")] }));
    assert.match(complaints.join(), /r1 of a on n1 stopped by SIGTERM, and nobody asked/);
  });
  test("a requested stop must be in the agent's log, under this app's name", () => {
    const apps = [app("ticker", { asks: [{ what: "restart", at: 100 }] })];
    const judge = (log: string) =>
      stoppedForAReason.judge(evidence({ ...stopped, apps, nodes: [node({ log })] }));
    assert.match(judge("").join(), /does not say why/);
    assert.match(
      judge("INFO Stopping: spec.suspend is true app=default/ab reason=Stopping").join(),
      /does not say/,
    );
    assert.deepEqual(judge("INFO Stopping: spec.suspend is true app=default/a reason=Stopping"), []);
  });
  test("a request long before the run started is no reason", () => {
    const apps = [app("ticker", { asks: [{ what: "restart", at: 30 }] })];
    const log = "INFO Stopping: the spec changed what runs app=default/a reason=Stopping";
    assert.match(
      stoppedForAReason.judge(evidence({ ...stopped, apps, nodes: [node({ log })] })).join(),
      /nobody asked/,
    );
  });
  test("a uid that the storm did not create is a violation", () => {
    assert.match(stoppedForAReason.judge(evidence(stopped)).join(), /nobody created/);
  });
});

describe("no exit code lost", () => {
  const judge = (kind: KindName, stories: Story[], status: object, part: Partial<StormApp> = {}) =>
    exitCodes.judge(evidence({ apps: [app(kind, part)], objects: [object({}, status)], stories }));
  test("the status must match the app's own account", () => {
    assert.deepEqual(judge("never", [story({ end: 9 })], { lastExit: { code: 9 } }), []);
    assert.match(
      judge("never", [story({ end: 9 })], { lastExit: { code: 0 } }).join(),
      /ended with 9.*says 0/,
    );
    assert.match(judge("never", [story({ end: 9 })], {}).join(), /says undefined/);
  });
  test("an app that ended for good must not run again", () => {
    const twice = [story({ end: 9 }), story({ run: "r2", end: 9 })];
    assert.match(judge("never", twice, { lastExit: { code: 9 } }).join(), /ran 2 times: 9, 9/);
    assert.deepEqual(judge("never", twice, { lastExit: { code: 9 } }, { excused: "its record was cut" }), []);
  });
  test("every end of an app that cycles counts as a restart", () => {
    const runs = ["r1", "r2", "r3", "r4"].map((run) => story({ run, end: 7 }));
    assert.deepEqual(judge("always", runs, { lastExit: { code: 7 }, restarts: 3 }), []);
    assert.match(judge("always", runs, { lastExit: { code: 7 }, restarts: 1 }).join(), /started 4 times/);
    assert.match(
      judge("always", runs, { lastExit: { reason: "Lost" }, restarts: 3 }).join(),
      /ends with 7.*Lost/,
    );
  });
});

describe("no log line lost or doubled", () => {
  const judge = (text: string, wrote: number[], part: Partial<NodeEvidence> = {}) =>
    logLines.judge(evidence({
      apps: [app("ticker")],
      stories: [story()],
      nodes: [node({ appLogs: new Map([["a", text]]), ...part })],
      lines: new Map([["r1", { wrote, failed: [] }]]),
    }));
  const log = (...numbers: number[]) => numbers.map((n) => `<r1 ${n}>\n`).join("");
  test("a log with all lines, and those written since, is complete", () => {
    assert.deepEqual(judge(log(1, 2, 3, 4), [1, 2, 3]), []);
  });
  test("a gap, a missing end and a missing start are lost lines", () => {
    assert.match(judge(log(1, 3), [1, 2, 3]).join(), /1 of 3 lines are lost, the first is 2/);
    assert.match(judge(log(1, 2), [1, 2, 3]).join(), /the first is 3/);
    assert.match(judge(log(2, 3), [1, 2, 3]).join(), /the first is 1/);
  });
  test("a full disk may cost the oldest part, the end, and what the log says that it lacks, but nothing else", () => {
    const full = { logsWereFull: true };
    const note = "\nnckubelet: up to 40 bytes of output are lost: No space left on device\n";
    assert.deepEqual(judge(log(3, 4), [1, 2, 3, 4], full), []);
    assert.deepEqual(judge(log(1, 2), [1, 2, 3, 4], full), []);
    assert.deepEqual(judge(log(1) + note + log(4, 5), [1, 2, 3, 4, 5], full), []);
    assert.match(judge(log(1, 4), [1, 2, 3, 4], full).join(), /2 of 4 lines are lost, the first is 2/);
    assert.match(judge(log(1) + note + log(2, 4), [1, 2, 3, 4], full).join(), /the first is 3/);
    assert.match(judge(log(1, 3, 3), [1, 2, 3], full).join(), /line 3 is there twice/);
    assert.match(judge(log(1) + note + log(3), [1, 2, 3]).join(), /the first is 2/);
  });
  test("a line whose write failed is not lost", () => {
    assert.deepEqual(judge(log(1, 2) + "<r1 3" + log(5), [1, 2, 5]), []);
  });
  test("a duplicate line is a violation", () => {
    assert.match(judge(log(1, 2, 2, 3), [1, 2, 3]).join(), /line 2 is there twice/);
  });
});

describe("no cgroup or process leaked", () => {
  test("processes and files of an existing app are no leaks", () => {
    const traces = [{ where: "the log default_a", app: "a" }, {
      where: "the folder of the run r1",
      run: "r1",
    }];
    assert.deepEqual(
      noLeaks.judge(evidence({ objects: [object()], live: [live()], nodes: [node({ traces })] })),
      [],
    );
  });
  test("a process, a folder and a run of a deleted app are leaks", () => {
    const traces = [{ where: "the log default_a", app: "a" }, { where: "marks of the run r2", run: "r2" }];
    const found = noLeaks.judge(evidence({ live: [live()], nodes: [node({ traces })] }));
    assert.equal(found.length, 3);
    assert.match(found.join(), /process 1 of a lives on n1.*log default_a.*marks of the run r2/);
  });
  test("remains of an app on a node that it is no longer bound to are a leak", () => {
    const traces = [{ where: "the log default_a", app: "a" }];
    const nodes = [node({ name: "n2", traces })];
    assert.equal(noLeaks.judge(evidence({ objects: [object()], nodes })).length, 1);
  });
});

describe("every app converges", () => {
  const judge = (
    kind: KindName,
    objects: NCApp[],
    part: Partial<Evidence> = {},
    more: Partial<StormApp> = {},
  ) => converged.judge(evidence({ apps: [app(kind, more)], objects, nodes: [node()], ...part }));
  test("a running app must report it and have a process on its node", () => {
    const running = object({}, { phase: "Running" });
    assert.deepEqual(judge("ticker", [running], { live: [live()] }), []);
    assert.match(judge("ticker", [running]).join(), /with 0 processes/);
    assert.match(judge("ticker", [running], { live: [live({ node: "n2" })] }).join(), /runs on n2/);
    assert.match(judge("ticker", [object({}, { phase: "BackOff" })], { live: [live()] }).join(), /BackOff/);
  });
  test("an app that ends must have ended, and one that cycles may be anywhere in its cycle", () => {
    assert.deepEqual(judge("never", [object({}, { phase: "Failed" })]), []);
    assert.match(judge("never", [object({}, { phase: "Running" })]).join(), /Running/);
    assert.deepEqual(judge("always", [object({}, { phase: "BackOff" })]), []);
    assert.match(judge("always", [object({}, { phase: "Pending" })]).join(), /Pending/);
  });
  test("a suspended app must not run", () => {
    const rests = object({}, { phase: "Pending", reason: "Suspended" });
    assert.deepEqual(judge("ticker", [rests], {}, { suspended: true }), []);
    assert.match(
      judge("ticker", [rests], { live: [live()] }, { suspended: true }).join(),
      /is suspended, but/,
    );
  });
  test("an app may wait for a port only if every node has assigned it", () => {
    const waiting = object({ nodeName: undefined, ports: [{ port: 18_080 }] });
    const holder = object({ ports: [{ port: 18_080 }] }, { phase: "Running" }, "b", "u2");
    assert.match(judge("port", [waiting]).join(), /is not bound/);
    const apps = [app("port"), app("port", { name: "b", uid: "u2" })];
    const heldBy = { apps, live: [live({ uid: "u2", name: "b" })] };
    assert.deepEqual(judge("port", [waiting, holder], heldBy), []);
  });
  test("an unwanted object, and an app that the server lacks, are violations", () => {
    assert.match(judge("ticker", []).join(), /is not in the API server/);
    assert.match(converged.judge(evidence({ objects: [object()] })).join(), /nobody wants it/);
  });
});

test("an agent that is not ready is reported with its own message", () => {
  const nodes = [node(), node({ name: "n2", readiness: "[-]disk full" })];
  assert.deepEqual(agentsReady.judge(evidence({ nodes })), ["the agent of n2 is not ready: [-]disk full"]);
});

test("readWitness() reads the events of each run, and skips a line that is being written", () => {
  const text = "begin u1 a r1 n1 10 100 \nbegin u1 a r2 n1 11 200.5 \n" +
    "term u1 a r1 n1 10 300 \nend u1 a r2 n1 11 300 7\nend u1 a r1";
  assert.deepEqual(readWitness(text), [story({ termed: true }), story({ run: "r2", began: 200.5, end: 7 })]);
});

test("a tally counts faults and checks, and names a broken invariant once", () => {
  const tally = createTally(["kill"], ["one"]);
  tally.tried("kill");
  tally.checked("one", [], 1);
  tally.checked("one", ["broken"], 2);
  tally.checked("one", ["broken"], 3);
  assert.deepEqual(tally.faults, { kill: 1 });
  assert.deepEqual(tally.checks, { one: 3 });
  assert.deepEqual(tally.violations, [{ invariant: "one", round: 2, what: "broken" }]);
});
