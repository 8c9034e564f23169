import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createLogger } from "../../src/lib/log.ts";
import { runScheduler, type SchedulerOptions } from "../../src/scheduler/scheduler.ts";
import {
  accept,
  type Answer,
  type FakeServer,
  isWatch,
  json,
  refuse,
  type SeenRequest,
  withClient,
} from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";
import { ncapp } from "./sample-cluster.ts";
import { lease, node, quota } from "./objects.ts";
import { answerList, pluralOf, quietServer } from "./quiet-server.ts";

/** Runs a scheduler beside a server while `use` does. */
async function scheduling(
  answer: Answer,
  use: (server: FakeServer, log: string[]) => Promise<void>,
  given: Partial<SchedulerOptions> = {},
): Promise<void> {
  await withClient(answer, async (client, server) => {
    const lines: string[] = [];
    const stopping = new AbortController();
    const running = runScheduler({
      client,
      log: createLogger({ write: (line) => void lines.push(line) }),
      version: "test",
      identity: "first",
      schedulerName: "nc-scheduler",
      policy: "spread",
      leaderElect: false,
      tickMs: 10,
      ...given,
    }, stopping.signal);
    try {
      await use(server, lines);
    } finally {
      stopping.abort();
      await running;
    }
  });
}

test("while the Leases are out of sight no app is taken off its node", async () => {
  const objects = {
    nodes: [node("a", { spec: { taints: [{ key: "down", effect: "NoExecute" }] } })],
    leases: [lease("a", Date.now())],
    resourcequotas: [quota("team", { cpuPCT: "50" })],
  };
  let leaseWatches = 0;
  let looks = 0;
  let showLeases = () => {};
  const listApps: (() => void)[] = [];
  const patches = (plural: string) => (request: SeenRequest) =>
    request.method === "PATCH" && pluralOf(request) === plural;
  const first = (request: SeenRequest, response: ServerResponse) => {
    const plural = pluralOf(request);
    if (plural === "leases" && isWatch(request)) {
      // The second one shows that the trouble with the first was noticed: only then are there apps to be judged.
      if (++leaseWatches === 1) refuse(response, 500, "InternalError", "as told");
      else showLeases = () => accept(response);
      if (leaseWatches > 1) listApps.splice(0).forEach((answer) => answer());
    } else if (plural === "ncapps" && request.method === "GET" && !isWatch(request)) {
      const answer = () => answerList(response, "ncapps", [ncapp("web", { nodeName: "a" })]);
      if (leaseWatches > 1) answer();
      else listApps.push(answer);
    } else if (patches("resourcequotas")(request)) {
      // Sent again with every look at the cluster.
      looks++;
      refuse(response, 409, "Conflict", "as told");
    } else return false;
    return true;
  };
  await scheduling(quietServer(objects, first), async ({ requests }) => {
    const evictions = () => requests.filter(patches("ncapps")).length;
    await waitFor("it has looked around", () => looks >= 5);
    assert.equal(evictions(), 0);
    showLeases();
    await waitFor("the taint drives the app away", () => evictions() > 0);
  });
});

test("a scheduler of another name stands for an election of its own, and says which right it lacks", async () => {
  const server = quietServer({}, (request, response) => {
    if (!request.path.endsWith("/selfsubjectaccessreviews")) return false;
    const { name } = JSON.parse(request.body).spec.resourceAttributes;
    json(response, { kind: "SelfSubjectAccessReview", status: { allowed: name === undefined } }, 201);
    return true;
  });
  await scheduling(server, async ({ requests }, log) => {
    await waitFor("it leads", () => log.some((line) => line.includes("leading")));
    const leased = requests.filter(({ path }) => path.includes("/namespaces/nckubelet/leases/"));
    assert.deepEqual([...new Set(leased.map(({ path }) => path.split("/").at(-1)))], ["nc-scheduler-batch"]);
    const warning = await waitFor(
      "it says so",
      () => log.find((line) => line.includes("--scheduler-name batch")),
    );
    assert.match(warning, /get\/update leases in nckubelet.*nc-scheduler-batch/);
  }, { schedulerName: "batch", leaderElect: true });
});
