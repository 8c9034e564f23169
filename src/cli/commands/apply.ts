import { keyOf } from "../../api/names.ts";
import { appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { type Command, textFlag } from "../command.ts";
import { filenameFlag, readManifestFiles } from "../manifest-files.ts";

/** Sends manifests to the agent of this node. If one is invalid, none is applied. Objects of other kinds are skipped. */
export const applyCommand: Command = {
  operands: "[FILE...]",
  flags: {
    filename: filenameFlag,
    ...appFlags,
    namespace: {
      kind: "text",
      short: "n",
      value: "NAME",
      help: "Namespace of apps that name none.",
      default: "default",
    },
  },
  examples: ["nckubelet apply -f app.yaml", "kubectl get ncapp web -o yaml | nckubelet apply -f -"],
  async run(invocation, io) {
    const files = await readManifestFiles(invocation, io, { namespace: textFlag(invocation, "namespace") });
    const apps = files.flatMap((file) => file.apps);
    const problems = files.flatMap((file) => file.problems);
    for (const line of [...files.flatMap((file) => file.skipped), ...problems]) io.stderr(`${line}\n`);
    if (problems.length > 0 || apps.length === 0) {
      const why = problems.length > 0 ? "" : ": there is no NCApp";
      io.stderr(`nckubelet: nothing was applied${why}\n`);
      return 1;
    }
    const client = await connectAgent(invocation, io);
    for (const { app } of apps) {
      const key = keyOf(app);
      const isNew = await client.put(app).catch((cause) => {
        throw new Error(`${key} was not applied: ${(cause as Error).message}`, { cause });
      });
      io.stdout(`${key} ${isNew ? "created" : "configured"}\n`);
    }
    return 0;
  },
};
