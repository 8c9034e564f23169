import { appKey } from "../../api/names.ts";
import { describeState, isStopped, shortName, stopTimeoutMs, waitForApp } from "../agent-api/agent-api.ts";
import { verbCommand } from "./verb-command.ts";

/** Stops apps and keeps them: they stay stopped until they are started again. */
export const stopCommand = verbCommand({
  name: "stop",
  summary: "Stop apps, and keep them stopped.",
  examples: ["nckubelet stop web", "nckubelet stop -n shop web worker"],
  async perform(client, app, { wait, signal }) {
    const key = appKey(app.namespace, app.name);
    const timeoutMs = stopTimeoutMs(await client.get(app));
    await client.act(app, "stop");
    if (!wait) return { well: true, text: `${key} is being stopped` };
    const after = await waitForApp(client, app, isStopped, { timeoutMs, signal });
    if (after && !isStopped(after)) return { ...describeState(after), well: false };
    return { well: true, text: `${key} is stopped; 'nckubelet start ${shortName(app)}' starts it again` };
  },
});
