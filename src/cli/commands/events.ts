import { appKey } from "../../api/names.ts";
import { appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { fullName, manyApps, nameOf } from "../app-name.ts";
import { appChoice, selectorFlag } from "../choose-apps.ts";
import { type Command, textFlag } from "../command.ts";
import { cutLine, eventTable, isForPrograms, outputFlag, outputFormat } from "../screen/screen.ts";

/** Prints what happened to apps lately, as far as the agent remembers it: the last events of each app since the agent started. */
export const eventsCommand: Command = {
  operands: "[APP...]",
  flags: {
    ...appFlags,
    namespace: { ...appFlags.namespace!, help: "Only apps of this namespace.", default: "all" },
    selector: selectorFlag,
    output: { ...outputFlag, help: "table or json." },
  },
  examples: [
    "nckubelet events",
    "nckubelet events web",
    "nckubelet events -l app=web",
    "nckubelet events -n shop -o json",
  ],
  async run(invocation, io) {
    const format = outputFormat(invocation);
    const client = await connectAgent(invocation, io);
    const namespace = textFlag(invocation, "namespace");
    const isChosen = appChoice(invocation);
    const named = invocation.args.length > 0 ? manyApps(invocation) : undefined;
    // An unknown app is an error with a suggestion.
    await Promise.all((named ?? []).map((app) => client.get(app)));
    const chosen = isChosen ? (await client.list()).filter(isChosen).map(nameOf) : named;
    const keys = chosen && new Set(chosen.map(fullName));
    const isListed = (key: string) => namespace === undefined || key.startsWith(appKey(namespace, ""));
    const found = (await client.events()).filter(({ app }) =>
      keys ? keys.has(app) && (named || isListed(app)) : isListed(app)
    );
    if (isForPrograms(format)) io.stdout(`${JSON.stringify({ items: found }, null, 2)}\n`);
    else if (found.length === 0) io.stdout("No events since the agent started.\n");
    else {
      const lines = eventTable(found, Date.now(), { app: true });
      io.stdout(lines.map((line) => `${cutLine(line, format === "wide" ? 0 : io.columns)}\n`).join(""));
    }
    return 0;
  },
};
