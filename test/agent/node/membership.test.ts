import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createMembership } from "../../../src/agent/node/node.ts";
import { namespaces } from "../../../src/kube/resources.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { createTestLog } from "../../report/test-log.ts";
import { recordWith } from "../../supervisor/fixtures.ts";
import { tempFolder } from "../../temp-folder.ts";

interface Start {
  nodeName?: string;
  cluster?: string;
  accept?: boolean;
  /** The sources of the apps in the state. */
  apps?: string[];
}

/** Starts agents with the same state, one after the other. */
const withState = async (
  use: (
    start: (change?: Start) => Promise<{ settled: boolean; why?: string; log: string; state: string }>,
    folder: string,
  ) => Promise<void>,
) => {
  using temp = tempFolder();
  await use(async ({ nodeName = "web-1", cluster = "uid-1", accept, apps = ["api-server"] } = {}) => {
    const api = new FakeApi();
    if (cluster === "forbidden") api.intercept = () => 403;
    api.add(namespaces, { metadata: { name: "kube-system", uid: cluster } as object });
    const log = createTestLog();
    const { settle, gate, identity } = await createMembership({
      options: { stateDir: temp.path, nodeName, acceptNodeNameChange: accept, log },
      supervisor: {
        hasLost: false,
        list: () => apps.map((source) => ({ key: "default/a", record: recordWith({ source }) })),
      } as never,
      bootId: "b0071b0071",
    });
    const settled = await settle(api.client, new AbortController().signal);
    return { settled, why: gate.why, log: log.text(), state: identity.state };
  }, temp.path);
};

test("a new state records its node and cluster silently", async () => {
  await withState(async (start, folder) => {
    const first = await start();
    assert.deepEqual([first.settled, first.why, first.log], [true, undefined, ""]);
    const record = JSON.parse(await readFile(join(folder, "node.json"), "utf8"));
    assert.deepEqual(record, { id: first.state, node: "web-1", cluster: "uid-1" });
    assert.deepEqual(await start(), first);
  });
});

test("an agent with another name refuses to act until that is accepted", async () => {
  await withState(async (start) => {
    const { state } = await start();
    const renamed = await start({ nodeName: "web-2" });
    assert.equal(renamed.settled, false);
    assert.match(renamed.why ?? "", /belongs to node web-1, and its node name is now web-2: its apps/);
    assert.match(renamed.log, /--accept-node-name-change/);
    assert.equal((await start({ nodeName: "web-2" })).settled, false);
    const accepted = await start({ nodeName: "web-2", accept: true });
    assert.deepEqual([accepted.settled, accepted.why, accepted.state], [true, undefined, state]);
    assert.equal((await start({ nodeName: "web-2" })).settled, true);
    assert.equal((await start()).settled, false);
  });
});

test("an agent at another cluster refuses to act until that is accepted", async () => {
  await withState(async (start) => {
    await start();
    const moved = await start({ cluster: "uid-2" });
    assert.equal(moved.settled, false);
    assert.match(moved.why ?? "", /node web-1 of cluster uid-1, and its API server is of cluster uid-2/);
    assert.equal((await start({ cluster: "uid-2", accept: true })).settled, true);
    assert.equal((await start({ cluster: "uid-2" })).settled, true);
  });
});

test("a state without apps of the API server may change its name and cluster", async () => {
  await withState(async (start) => {
    await start({ apps: [] });
    assert.equal(
      (await start({ nodeName: "web-2", cluster: "uid-2", apps: ["socket", "manifests"] })).settled,
      true,
    );
    assert.equal((await start({ nodeName: "web-2", cluster: "uid-2" })).settled, true);
  });
});

test("an agent that may not read the cluster's uid says so and goes by the name", async () => {
  await withState(async (start) => {
    await start();
    const forbidden = await start({ cluster: "forbidden" });
    assert.equal(forbidden.settled, true);
    assert.match(forbidden.log, /may not read the namespace kube-system/);
    assert.equal((await start({ cluster: "forbidden", nodeName: "web-2" })).settled, false);
    assert.equal((await start({ cluster: "uid-2" })).settled, false, "the uid stays recorded");
  });
});

test("a damaged record does not keep the agent from its apps", async () => {
  await withState(async (start, folder) => {
    await start();
    await writeFile(join(folder, "node.json"), "{");
    assert.equal((await start()).settled, true);
  });
});

test("the gate follows the Lease and names the other agent", async () => {
  using temp = tempFolder();
  const log = createTestLog();
  const { gate, onStanding } = await createMembership({
    options: { stateDir: temp.path, nodeName: "web-1", log },
    supervisor: { hasLost: false, list: () => [] } as never,
    bootId: "b0071",
  });
  const taken = { kind: "taken", holder: "web-1_0ther_b0072" } as const;
  onStanding({ kind: "unknown" });
  assert.deepEqual([gate.isOpen, gate.why], [undefined, undefined]);
  onStanding({ ...taken, renews: false });
  assert.match(gate.why ?? "", /another agent, web-1_0ther_b0072, has written .*: waiting until it expires/);
  onStanding({ ...taken, renews: true });
  onStanding({ ...taken, renews: true });
  assert.match(
    gate.why ?? "",
    /renews the Lease kube-node-lease\/nckubelet-web-1: two machines have the node name/,
  );
  onStanding({ kind: "free" });
  assert.deepEqual([gate.isOpen, gate.why], [true, undefined]);
  assert.equal(log.lines.length, 2);
});
