import { appKey } from "../../api/names.ts";
import { describeState, hasEnded, isSettled, waitForApp, waitForNewRun } from "../agent-api/agent-api.ts";
import { verbCommand } from "./verb-command.ts";

const timeoutMs = 15_000;

/** Starts apps that were stopped. */
export const startCommand = verbCommand({
  name: "start",
  summary: "Start apps that were stopped or have ended.",
  examples: ["nckubelet start web", "nckubelet start shop/web"],
  async perform(client, app, { wait, signal }) {
    const key = appKey(app.namespace, app.name);
    const before = await client.get(app);
    await client.act(app, "start");
    if (!wait) return { well: true, text: `${key} is being started` };
    const after = hasEnded(before)
      ? await waitForNewRun(client, app, before, { timeoutMs, signal })
      : await waitForApp(client, app, isSettled, { timeoutMs, signal });
    return after ? describeState(after) : { well: false, text: `${key} was removed meanwhile` };
  },
});
