import { appKey } from "../api/names.ts";
import { describeState, hasEnded, isSettled, runOf, waitForApp } from "./app-state.ts";
import type { NodeApp } from "./node-app.ts";
import { verbCommand } from "./verb-command.ts";

const timeoutMs = 15_000;

/** Starts apps that were stopped. */
export const startCommand = verbCommand({
  name: "start",
  summary: "Start apps that were stopped.",
  examples: ["nckubelet start web", "nckubelet start shop/web"],
  async perform(client, app, { wait, signal }) {
    const key = appKey(app.namespace, app.name);
    const before = await client.get(app);
    await client.act(app, "start");
    if (!wait) return { well: true, text: `${key} is being started` };
    // One that had ended looks ended for a moment more.
    const isDone = (now: NodeApp) => isSettled(now) && !(hasEnded(before) && runOf(now) === runOf(before));
    const after = await waitForApp(client, app, isDone, { timeoutMs, signal });
    return after ? describeState(after) : { well: false, text: `${key} was removed meanwhile` };
  },
});
