import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { lead, type LeaderOptions, type Leadership } from "../../src/kube/leader.ts";
import { type Lease, renewed } from "../../src/kube/lease.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { waitFor } from "../wait-for.ts";
import { FakeApi } from "./fake-api.ts";
import { withClient } from "./fake-server.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/nckubelet/leases/nc-scheduler";

/** A server with one Lease that can fail on demand. */
function createLeaseServer(stored?: Lease) {
  const api = new FakeApi();
  if (stored) api.put(path, stored);
  const state = {
    broken: false,
    /** Set to 0, the next write is stored and not answered. */
    unanswered: 1,
    get lease(): Lease | undefined {
      return api.get(path);
    },
    set lease(lease) {
      api.put(path, lease);
    },
    get writes() {
      return api.asked.filter(({ method }) => method !== "GET").length;
    },
  };
  api.intercept = ({ method, body }) => {
    if (state.broken) return 500;
    if (method === "GET" || state.unanswered > 0) return;
    state.unanswered++;
    api.put(path, body);
    return new Promise(() => {});
  };
  return { state, answer: api.answer };
}

/** Long enough that no deadline passes by itself, even on a busy machine. */
const times = { leaseSeconds: 120, renewDeadlineMs: 90_000, retryMs: 50 };
/** For tests in which a deadline must pass. */
const short = { leaseSeconds: 1, renewDeadlineMs: 600 };
const options = (identity: string, more: Partial<LeaderOptions> = {}): LeaderOptions => ({
  namespace: "nckubelet",
  name: "nc-scheduler",
  identity,
  log: silentLogger,
  ...times,
  ...more,
});

/** A candidate that works until it is stopped, and its state. */
function candidate(client: KubeClient, identity: string, more: Partial<LeaderOptions> = {}) {
  const stopping = new AbortController();
  const terms: Leadership[] = [];
  const done = lead(client, options(identity, more), async (leadership) => {
    terms.push(leadership);
    if (!leadership.signal.aborted) {
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
    }
  }, stopping.signal);
  return {
    terms,
    leads: () => terms.at(-1)?.isLeader() ?? false,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

const heldBy = (holder: string, seconds = 1): Lease =>
  renewed(undefined, { namespace: "nckubelet", name: "nc-scheduler", holder, seconds }, Date.now());

test("lead() creates the Lease, renews it, and releases it at the end", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    const one = candidate(client, "one");
    await waitFor("one leads", () => one.leads());
    await waitFor("it renews", () => state.writes >= 3);
    assert.equal(state.lease?.spec?.holderIdentity, "one");
    await one.stop();
    assert.equal(state.lease?.spec?.holderIdentity, undefined);
    assert.equal(one.terms.length, 1);
  });
});

test("one of two candidates leads, and the other takes over when it ends", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    const one = candidate(client, "one");
    await waitFor("one leads", () => one.leads());
    const two = candidate(client, "two");
    assert.equal(two.terms.length, 0);
    await one.stop();
    await waitFor("two leads", () => two.leads());
    await two.stop();
    assert.equal(state.lease?.spec?.leaseTransitions, 1);
  });
});

test("a Lease that is not renewed is taken once it expires, whatever its own times say", async () => {
  const { state, answer } = createLeaseServer(heldBy("dead"));
  state.lease!.spec!.renewTime = "2099-01-01T00:00:00.000000Z";
  await withClient(answer, async (client) => {
    const one = candidate(client, "one");
    await waitFor("one leads", () => one.leads());
    assert.equal(state.lease?.spec?.leaseTransitions, 1);
    await one.stop();
  });
});

test("a Lease that is renewed is never taken", async () => {
  const { state, answer } = createLeaseServer(heldBy("other"));
  await withClient(answer, async (client, { requests }) => {
    const one = candidate(client, "one");
    const seen = () => requests.length;
    // Three times as long as the Lease lasts.
    for (let round = 1; round <= 60; round++) {
      await waitFor("it looks again", () => seen() >= round);
      state.lease = heldBy("other");
    }
    assert.equal(one.terms.length, 0);
    await one.stop();
  });
});

test("a leader that cannot renew stops its work, and leads again once it can", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    const one = candidate(client, "one", short);
    await waitFor("one leads", () => one.leads());
    state.broken = true;
    await waitFor("it has stopped", () => one.terms.at(-1)!.signal.aborted);
    assert.equal(one.leads(), false);
    const before = one.terms.length;
    state.broken = false;
    await waitFor("it leads again", () => one.terms.length > before && one.leads());
    await one.stop();
  });
});

test("a leader whose Lease was taken stops its work and does not take it back", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    const one = candidate(client, "one");
    await waitFor("one leads", () => one.leads());
    state.lease = heldBy("usurper", 3600);
    await waitFor("it has stopped", () => one.terms[0]!.signal.aborted);
    assert.equal(state.lease.spec?.holderIdentity, "usurper");
    await one.stop();
    assert.equal(state.lease.spec?.holderIdentity, "usurper");
  });
});

test("isLeader() is false as soon as the deadline passes on either clock, before anything else runs", async () => {
  const hour = 3_600_000;
  const moved = [{ wall: hour, steady: 0 }, { wall: 0, steady: hour }, { wall: -hour, steady: hour }];
  for (const { wall, steady } of moved) {
    const { answer } = createLeaseServer();
    await withClient(answer, async (client) => {
      const clock = { wall: 0, steady: 0 };
      const stopping = new AbortController();
      let seen: boolean[] = [];
      const clocks = { now: () => Date.now() + clock.wall, steady: () => performance.now() + clock.steady };
      await lead(client, options("one", clocks), async ({ isLeader }) => {
        const before = isLeader();
        Object.assign(clock, { wall, steady });
        seen = [before, isLeader()];
        stopping.abort();
      }, stopping.signal);
      assert.deepEqual(seen, [true, false]);
    });
  }
});

test("a term whose isLeader() was false once ends although the late renewal succeeds, and a new one begins", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    let late = 0;
    const steady = () => performance.now() + late;
    const one = candidate(client, "one", { steady });
    await waitFor("one leads", () => one.leads());
    late = times.renewDeadlineMs;
    assert.equal(one.terms[0]!.isLeader(), false);
    // The next renewal succeeds: the Lease is still its own.
    const { writes } = state;
    await waitFor("it holds the Lease again", () => state.writes > writes);
    await waitFor("a new term begins", () => one.terms.length === 2 && one.leads());
    assert.equal(one.terms[0]!.signal.aborted, true);
    assert.equal(one.terms[0]!.isLeader(), false);
    await one.stop();
  });
});

test("a candidate whose clock is set forward does not take a live Lease", async () => {
  const { state, answer } = createLeaseServer(heldBy("other", 3600));
  await withClient(answer, async (client) => {
    let asked = 0;
    const now = () => Date.now() + 10 * 3_600_000 * asked++;
    const stopping = new AbortController();
    const done = lead(client, options("one", { now }), async () => {}, stopping.signal);
    await waitFor("it has asked several times", () => asked > 5);
    stopping.abort();
    await done;
    assert.equal(state.lease?.spec?.holderIdentity, "other");
    assert.equal(state.writes, 0);
  });
});

test("a Lease is released even if its last renewal was aborted midway", async () => {
  const { state, answer } = createLeaseServer();
  await withClient(answer, async (client) => {
    const one = candidate(client, "one");
    await waitFor("one leads", () => one.leads());
    state.unanswered = 0;
    await waitFor("a renewal has arrived and is not answered", () => state.unanswered === 1);
    await one.stop();
    assert.equal(state.lease?.spec?.holderIdentity, undefined);
  });
});
