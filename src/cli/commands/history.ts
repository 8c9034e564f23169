import { appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { oneApp } from "../app-name.ts";
import { type Command, textFlag } from "../command.ts";
import { parseAge } from "../flag-values.ts";
import { historyLines, isForPrograms, outputFlag, outputFormat, versionTable } from "../screen/screen.ts";

/** Prints the versions of an app, and everything that happened to it in the last seven days, also to one that was removed. */
export const historyCommand: Command = {
  operands: "APP",
  flags: {
    since: { value: "TIME", help: "Only the last TIME, such as 3h or 3d.", default: "7d" },
    ...appFlags,
    output: { ...outputFlag, help: "table or json; json has samples of the usage, too." },
  },
  examples: ["nckubelet history web", "nckubelet history --since 12h shop/web"],
  async run(invocation, io) {
    const format = outputFormat(invocation);
    const since = textFlag(invocation, "since");
    const app = oneApp(invocation);
    const client = await connectAgent(invocation, io);
    const entries = await client.history(app, since === undefined ? undefined : parseAge("since", since));
    // Of an app that was removed, only what happened is left.
    const { status = {} } = await client.find(app) ?? {};
    const { revisions = [] } = status;
    if (isForPrograms(format)) io.stdout(`${JSON.stringify({ items: entries, revisions }, null, 2)}\n`);
    else {
      const versions = versionTable(status, Date.now());
      const lines = [...versions, ...(versions.length > 0 ? [""] : []), ...historyLines(entries)];
      io.stdout(lines.length === 0 ? "Nothing is known to have happened.\n" : `${lines.join("\n")}\n`);
    }
    return 0;
  },
};
