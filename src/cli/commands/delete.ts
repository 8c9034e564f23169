import { appKey } from "../../api/names.ts";
import { describeState, stopTimeoutMs, waitForApp } from "../agent-api/agent-api.ts";
import { verbCommand } from "./verb-command.ts";

/** Stops apps and forgets them. */
export const deleteCommand = verbCommand({
  name: "delete",
  summary: "Stop apps and forget them, with their logs.",
  examples: ["nckubelet delete web"],
  async perform(client, app, { wait, signal }) {
    const key = appKey(app.namespace, app.name);
    const timeoutMs = stopTimeoutMs(await client.get(app));
    await client.remove(app);
    if (!wait) return { well: true, text: `${key} is being deleted` };
    const left = await waitForApp(client, app, () => false, { timeoutMs, signal });
    return left ? { ...describeState(left), well: false } : { well: true, text: `${key} is deleted` };
  },
});
