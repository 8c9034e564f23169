import { appKey } from "../../api/names.ts";
import { describeState, stopTimeoutMs, waitForNewRun } from "../agent-api/agent-api.ts";
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
    const after = await waitForNewRun(client, app, before, { timeoutMs: stopTimeoutMs(before), signal });
    if (!after) return { well: false, text: `${key} was removed meanwhile` };
    const isOld = after.status?.pid !== undefined && after.status.pid === before.status?.pid;
    return isOld ? { well: false, text: `${key} was not restarted yet` } : describeState(after);
  },
});
