import assert from "node:assert/strict";
import { test } from "node:test";
import { createKubeletEndpoint } from "../../../src/agent/kubelet/kubelet.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { waitFor } from "../../wait-for.ts";

function endpoint() {
  const state = { acting: true, opened: 0, closed: 0, fails: false };
  const errors: string[] = [];
  const kubelet = createKubeletEndpoint({
    isActing: () => state.acting,
    log: { ...silentLogger, error: (message) => void errors.push(message) },
  });
  kubelet.start(async (onPort) => {
    if (state.fails) throw new Error("no disk");
    state.opened++;
    onPort(10_250);
    return { close: async () => void state.closed++ };
  });
  const ports: (number | undefined)[] = [];
  kubelet.onChange(() => ports.push(kubelet.port()));
  return { state, kubelet, ports, errors };
}

test("the listener is open while the Node is the agent's own, and the port is told at each change", async () => {
  const { state, kubelet, ports } = endpoint();
  kubelet.update();
  kubelet.update();
  for (let round = 1; round <= 2; round++) {
    await waitFor("open", () => {
      kubelet.nodeSeen({ registered: true });
      return state.opened === 2 * round - 1;
    });
    await waitFor("closed", () => {
      kubelet.nodeSeen({ registered: false });
      return state.closed === 2 * round - 1;
    });
    await waitFor("open again", () => {
      kubelet.nodeSeen({ registered: true });
      return state.opened === 2 * round;
    });
    state.acting = false;
    await waitFor("closed again", () => {
      kubelet.update();
      return state.closed === 2 * round;
    });
    state.acting = true;
  }
  await kubelet.close();
  assert.deepEqual([state.opened, state.closed, kubelet.port()], [4, 4, undefined]);
  assert.deepEqual(ports, Array(4).fill([10_250, undefined]).flat());
});

test("a listener that cannot be opened is tried again, and the reason is logged once", async () => {
  const { state, kubelet, errors } = endpoint();
  state.fails = true;
  kubelet.nodeSeen({ registered: true });
  for (let round = 0; round < 3; round++) {
    kubelet.update();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(errors, ["cannot serve the kubelet API; trying again"]);
  state.fails = false;
  await waitFor("open", () => {
    kubelet.update();
    return kubelet.port() === 10_250;
  });
  await kubelet.close();
});

test("nothing is opened where nobody wants it, or after the end", async () => {
  const { state, kubelet } = endpoint();
  kubelet.nodeSeen({ registered: false });
  await kubelet.close();
  kubelet.nodeSeen({ registered: true });
  await kubelet.close();
  assert.equal(state.opened, 0);
});
