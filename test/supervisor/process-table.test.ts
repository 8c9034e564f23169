import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { ProcessTable, runOfCgroup, type SeenProcess } from "../../src/supervisor/process-table.ts";

const run = { runId: "run-1", main: { pid: 100, startTime: "50" } };

/** A process as a scan sees it: a child of the first process, leader of its own session and group, with nothing known about it. */
function seen(pid: number, fields: Partial<SeenProcess> = {}): SeenProcess {
  const identity = { pid, startTime: "60", parent: 1, group: pid, session: pid };
  const rest = { state: "S", isKernelThread: false, cpuSeconds: 0, seenAt: 0 };
  return { ...identity, ...rest, runId: "", marked: "", isExec: false, ...fields };
}

const main = () => seen(100, { startTime: "50", parent: 90 });
const pidsOf = (processes: SeenProcess[]) => processes.map(({ pid }) => pid).sort((a, b) => a - b);
const membersOf = (processes: SeenProcess[], sought = run, inside: SeenProcess[] = []) =>
  pidsOf(new ProcessTable(processes).membersOf(sought, inside));

test("a script's descendants are members of its run, in whatever session they are", () => {
  const others = [seen(1, { parent: 0 }), seen(90), seen(300)];
  const own = [main(), seen(101, { parent: 100 }), seen(102, { parent: 101 })];
  assert.deepEqual(membersOf([...others, ...own]), [100, 101, 102]);
});

test("another process with the script's pid is not the script", () => {
  assert.deepEqual(membersOf([seen(100, { startTime: "70" }), seen(101, { parent: 100 })]), []);
});

test("the session and group of a script that has ended hold together while a known member lives", () => {
  const marked = seen(101, { runId: "run-1", session: 100, group: 100 });
  const mates = () => [seen(102, { session: 100 }), seen(103, { group: 100 })];
  assert.deepEqual(membersOf([marked, ...mates()]), [101, 102, 103]);
  assert.deepEqual(membersOf(mates()), [], "the pid may be another session's by now");
});

test("what the run's launcher has adopted is a member, with all that it started; the launcher is not", () => {
  const sought = {
    ...run,
    main: undefined as unknown as typeof run.main,
    launcher: { pid: 90, startTime: "45" },
  };
  const orphans = () => [seen(101, { parent: 90 }), seen(102, { parent: 101 }), seen(103, { session: 90 })];
  assert.deepEqual(membersOf([seen(90, { startTime: "45" }), ...orphans()], sought), [101, 102]);
  assert.deepEqual(
    membersOf([seen(90, { startTime: "46" }), ...orphans()], sought),
    [],
    "another has its pid",
  );
  assert.deepEqual(membersOf(orphans(), sought), [], "it has ended");
});

test("a process that was found once is remembered when its parent has ended", () => {
  const child = seen(101, { parent: 100 });
  membersOf([main(), child]);
  assert.deepEqual(membersOf([{ ...child, parent: 1 }]), [101]);
});

test("a process that writes to the run's pipe is a member, unless it is older than the script", () => {
  const launcher = { pid: 90, startTime: "45", pipe: "pipe:[7]" };
  const sought = { ...run, launcher };
  const processes = [
    seen(101, { pipes: ["pipe:[6]", "pipe:[7]"] }),
    seen(102, { pipes: ["pipe:[6]"] }),
    seen(103, { pipes: ["pipe:[7]"], startTime: "40" }),
    seen(104, { pipes: ["pipe:[7]"], runId: "run-2" }),
  ];
  assert.deepEqual(pidsOf(new ProcessTable(processes).membersOf(sought)), [101]);
  assert.deepEqual(membersOf([seen(102, { pipes: ["pipe:[6]"] })]), []);
});

test("the marker of a run with a cgroup counts on processes of root only: other users cannot have left it", () => {
  const another = (process.getuid?.() ?? 0) + 1;
  const processes = () => [
    seen(101, { marked: "run-1", user: another }),
    seen(102, { marked: "run-1", user: 0 }),
    seen(103, { marked: "run-1", user: 0, runId: "run-2" }),
  ];
  const confined = { ...run, leaf: "/sys/fs/cgroup/nckubelet/shop_web/run-1" };
  assert.deepEqual(membersOf(processes(), confined), [102]);
  assert.deepEqual(membersOf(processes(), { ...run, leaf: "" } as typeof run), [101, 102]);
});

test("what processes inside the cgroup started is a member, except for exec processes and what they started", () => {
  const exec = [seen(200, { runId: "run-1", isExec: true }), seen(201, { parent: 200 })];
  const own = seen(101);
  const processes = [own, seen(102, { parent: 101 }), ...exec];
  assert.deepEqual(membersOf(processes, run, [own, ...exec]), [101, 102]);
  assert.deepEqual(pidsOf(new ProcessTable(processes).execsOf(run)), [200, 201]);
});

test("what a process started whose pid a process inside the cgroup has now is not a member", () => {
  const processes = [seen(101), seen(102, { parent: 101 })];
  assert.deepEqual(membersOf(processes, run, [seen(101, { startTime: "70" })]), []);
});

test("the cgroup of a process names its run, unless this agent is in it, too", () => {
  const [outer, inner] = ["/apps/shop_ci/mb0xk2-0123456789", "mb0xk3-abcdef0123"];
  assert.equal(runOfCgroup(`${outer}/own`, "/system.slice"), "mb0xk2-0123456789");
  assert.equal(runOfCgroup(outer, `${outer}/agent`), "");
  assert.equal(runOfCgroup(`${outer}/apps/shop_web/${inner}`, `${outer}/agent`), inner);
  assert.equal(runOfCgroup("/user.slice/session-1.scope", "/"), "");
});
