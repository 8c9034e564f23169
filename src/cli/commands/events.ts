import { appKey } from "../../api/names.ts";
import { appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { fullName, manyApps, nameOf } from "../app-name.ts";
import { appChoice, selectorFlag } from "../choose-apps.ts";
import { type Command, textFlag } from "../command.ts";
import { parseAge } from "../flag-values.ts";
import { cutLine, eventTable, isForPrograms, outputFlag, outputFormat } from "../screen/screen.ts";

/** Prints what happened to apps: the last events of each, or all of up to seven days, also of apps that were removed. */
export const eventsCommand: Command = {
  operands: "[APP...]",
  flags: {
    ...appFlags,
    namespace: { ...appFlags.namespace!, help: "Only apps of this namespace.", default: "all" },
    since: { value: "TIME", help: "All events of the last TIME, such as 3h or 3d; also of removed apps." },
    selector: selectorFlag,
    output: { ...outputFlag, help: "table or json." },
  },
  otherFlags: {
    "-w": "'nckubelet ps --watch' shows changes as they come",
    "--watch": "'nckubelet ps --watch' shows changes as they come",
  },
  examples: [
    "nckubelet events",
    "nckubelet events web",
    "nckubelet events --since 3d web",
    "nckubelet events -l app=web",
    "nckubelet events -n shop -o json",
  ],
  async run(invocation, io) {
    const format = outputFormat(invocation);
    const client = await connectAgent(invocation, io);
    const namespace = textFlag(invocation, "namespace");
    const isChosen = appChoice(invocation);
    const named = invocation.args.length > 0 ? manyApps(invocation) : undefined;
    const since = textFlag(invocation, "since");
    const sinceSeconds = since === undefined ? undefined : parseAge("since", since);
    const chosen = isChosen ? (await client.list()).filter(isChosen).map(nameOf) : named;
    const keys = chosen && new Set(chosen.map(fullName));
    const isListed = (key: string) => namespace === undefined || key.startsWith(appKey(namespace, ""));
    const only = chosen?.length === 1 ? chosen[0] : undefined;
    const found = (await client.events({ app: only, sinceSeconds })).filter(({ app }) =>
      keys ? keys.has(app) && (named || isListed(app)) : isListed(app)
    );
    // An unknown app is an error with a suggestion. One that was removed has events.
    const silent = named?.filter((name) => !found.some(({ app }) => app === fullName(name))) ?? [];
    await Promise.all(silent.map((app) => client.get(app)));
    if (isForPrograms(format)) io.stdout(`${JSON.stringify({ items: found }, null, 2)}\n`);
    else if (found.length === 0) {
      io.stdout(since === undefined ? "No events.\n" : `No events in the last ${since}.\n`);
    } else {
      const lines = eventTable(found, Date.now(), { app: true });
      io.stdout(lines.map((line) => `${cutLine(line, format === "wide" ? 0 : io.columns)}\n`).join(""));
    }
    return 0;
  },
};
