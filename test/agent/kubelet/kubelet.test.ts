import assert from "node:assert/strict";
import { test } from "node:test";
import { createKubeletEndpoint } from "../../../src/agent/kubelet/kubelet.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { waitFor } from "../../wait-for.ts";

function endpoint() {
  const state = { wanted: true, opened: 0, closed: 0, fails: false };
  const errors: string[] = [];
  const keeper = createKubeletEndpoint({
    isWanted: () => state.wanted,
    async open(onPort) {
      if (state.fails) throw new Error("no disk");
      state.opened++;
      onPort(10_250);
      return { close: async () => void state.closed++ };
    },
    log: { ...silentLogger, error: (message) => void errors.push(message) },
  });
  const ports: (number | undefined)[] = [];
  keeper.onChange(() => ports.push(keeper.port()));
  return { state, keeper, ports, errors };
}

test("the listener is open while the Node is the agent's own, and the port is told at each change", async () => {
  const { state, keeper, ports } = endpoint();
  keeper.update();
  keeper.update();
  await waitFor("open", () => keeper.port() === 10_250);
  keeper.update();
  state.wanted = false;
  await waitFor("closed", () => {
    keeper.update();
    return state.closed === 1;
  });
  state.wanted = true;
  await waitFor("open again", () => {
    keeper.update();
    return state.opened === 2;
  });
  await keeper.close();
  assert.deepEqual([state.opened, state.closed, keeper.port()], [2, 2, undefined]);
  assert.deepEqual(ports, [10_250, undefined, 10_250, undefined]);
});

test("a listener that cannot be opened is tried again, and the reason is logged once", async () => {
  const { state, keeper, errors } = endpoint();
  state.fails = true;
  for (let round = 0; round < 3; round++) {
    keeper.update();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(errors, ["cannot serve the kubelet API; trying again"]);
  state.fails = false;
  await waitFor("open", () => {
    keeper.update();
    return keeper.port() === 10_250;
  });
  await keeper.close();
});

test("nothing is opened where nobody wants it, or after the end", async () => {
  const { state, keeper } = endpoint();
  state.wanted = false;
  keeper.update();
  await keeper.close();
  state.wanted = true;
  keeper.update();
  await keeper.close();
  assert.equal(state.opened, 0);
});
