/** A process with hollow agents: `fleet.ts` forks it with their nodes, and asks it for the requests that they have made. */
import { rmSync } from "node:fs";
import process from "node:process";
import { startHollowAgents } from "../../test/hollow/hollow-agents.ts";

const kubeconfigs = new Map<string, string>(JSON.parse(process.argv[2] ?? "[]"));
const requests: Record<string, number> = {};

process.on("message", () => process.send?.(requests));
const { folder } = await startHollowAgents({
  nodes: [...kubeconfigs.keys()],
  reach: (node) => ({ kubeconfig: kubeconfigs.get(node) }),
  withinMs: 5000,
  onRequest({ verb, resource }) {
    const kind = `${verb} ${resource}`;
    requests[kind] = (requests[kind] ?? 0) + 1;
  },
});
// Closing them would report the end of every app.
process.on("disconnect", () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
process.send?.("started");
