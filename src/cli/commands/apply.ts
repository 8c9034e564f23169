import { keyOf } from "../../api/names.ts";
import { appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { type Command, textFlag } from "../command.ts";
import { readManifestFiles } from "../manifest-files.ts";

/** Gives manifests to the agent of this node. Nothing is applied while one of them is wrong; other kinds are passed over. */
export const applyCommand: Command = {
  name: "apply",
  summary: "Have this node run what manifests say.",
  operands: "[FILE...]",
  flags: {
    filename: { kind: "list", short: "f", value: "FILE", help: "A manifest, a folder of them, or -." },
    ...appFlags,
    namespace: {
      kind: "text",
      short: "n",
      value: "NAME",
      help: "For apps that name none.",
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
