import { appKey } from "../api/names.ts";
import { describeState, isSettled, runOf, stopTimeoutMs, waitForApp } from "./app-state.ts";
import type { NodeApp } from "./node-app.ts";
import { verbCommand } from "./verb-command.ts";

/** Stops apps and starts them again. */
export const restartCommand = verbCommand({
  name: "restart",
  summary: "Stop apps and start them again.",
  examples: ["nckubelet restart web"],
  async perform(client, app, { wait, signal }) {
    const key = appKey(app.namespace, app.name);
    const before = await client.get(app);
    await client.act(app, "restart");
    if (!wait) return { well: true, text: `${key} is being restarted` };
    const isDone = (now: NodeApp) => isSettled(now) && runOf(now) !== runOf(before);
    const after = await waitForApp(client, app, isDone, { timeoutMs: stopTimeoutMs(before), signal });
    if (!after) return { well: false, text: `${key} was removed meanwhile` };
    if (runOf(after) === runOf(before)) return { well: false, text: `${key} was not restarted yet` };
    return describeState(after);
  },
});
