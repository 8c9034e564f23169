import { dump } from "js-yaml";
import { keyOf } from "../../api/names.ts";
import { showSpec } from "../../api/shown-spec.ts";
import type { NCApp } from "../../api/types.ts";
import { applyDefaults } from "../../api/validate/validate.ts";
import { diffLines } from "./line-diff.ts";
import { connectAgent, type NodeApp } from "../agent-api/agent-api.ts";
import { nameOf } from "../app-name.ts";
import type { Command } from "../command.ts";
import { manifestFlags, putApp, readApps } from "./apply.ts";

/** Prints what `apply` would change. As with `kubectl diff`, the exit code is 1 if something differs. */
export const diffCommand: Command = {
  operands: "[FILE...]",
  flags: manifestFlags,
  examples: ["nckubelet diff -f app.yaml", "nckubelet diff -f apps/ || nckubelet apply -f apps/"],
  async run(invocation, io) {
    const apps = await readApps(invocation, io, "nothing was compared");
    if (!apps) return 2;
    const client = await connectAgent(invocation, io);
    let differs = false;
    for (const app of apps) {
      const key = keyOf(app);
      const { change, restarts, refused } = await putApp(client, app, { dryRun: true });
      if (change === "unchanged") continue;
      differs = true;
      const before = await client.find(nameOf(app));
      const lines = diffLines(before ? linesOf(before) : [], linesOf(app));
      // Values of variables are secrets: the agent does not show them.
      const body = lines.length > 0 ? lines : ["  (only values that are not shown differ)"];
      io.stdout([`--- ${key} on this node`, `+++ ${key} in the manifest`, ...body, ""].join("\n"));
      if (restarts) io.stdout(`(${key} would restart)\n`);
      if (refused) io.stdout(`(${refused})\n`);
    }
    return differs ? 1 : 0;
  },
};

/** What a user writes of an app, as YAML; values that may be secret are hidden. */
function linesOf({ metadata, spec }: NCApp | NodeApp): string[] {
  const { labels, annotations } = metadata;
  const shown = { metadata: { labels, annotations }, spec: showSpec(applyDefaults(spec)) };
  return dump(JSON.parse(JSON.stringify(shown)), { sortKeys: true, lineWidth: -1 }).trimEnd().split("\n");
}
