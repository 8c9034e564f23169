import { duration } from "../config/config.ts";
import { connectAgent, socketFlag } from "../agent-api/agent-api.ts";
import { type Command, textFlag, UsageError } from "../command.ts";
import {
  byUse,
  isForPrograms,
  outputFlag,
  outputFormat,
  paintFor,
  topLines,
  watchScreen,
} from "../screen/screen.ts";
import { formatApps } from "./ps.ts";

/** Shows what the apps use, the greediest first: in place on a terminal, once anywhere else and for programs. */
export const topCommand: Command = {
  name: "top",
  summary: "Watch what the apps use.",
  flags: {
    interval: { kind: "text", value: "TIME", help: "How often to look.", default: "2s" },
    once: { kind: "switch", help: "Print it once, also on a terminal." },
    output: outputFlag,
    socket: socketFlag,
  },
  examples: [
    "nckubelet top",
    "nckubelet top --interval 500ms",
    "nckubelet top --once -o wide",
    "nckubelet top -o json | jq -r '.items[0].metadata.name'",
  ],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(`top takes no operands, not ${JSON.stringify(invocation.args[0])}`);
    }
    const everyMs = duration("interval", textFlag(invocation, "interval") ?? "2s");
    const once = invocation.flags.once === true;
    const format = outputFormat(invocation);
    const client = await connectAgent(invocation, io);
    if (isForPrograms(format)) {
      io.stdout(formatApps((await client.list()).sort(byUse), format, io));
      return 0;
    }
    const wide = format === "wide";
    const look = async () => {
      const [agent, apps] = await Promise.all([client.status(), client.list()]);
      const columns = once || io.columns === 0 ? undefined : io.columns;
      return topLines({ agent, apps }, { now: Date.now(), wide, paint: paintFor(io), columns });
    };
    await watchScreen(look, io, { everyMs, once });
    return 0;
  },
};
