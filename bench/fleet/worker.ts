/** A process with hollow agents: `fleet.ts` forks it, tells it which to start, and asks for the requests that they have made. */
import { rmSync } from "node:fs";
import process from "node:process";
import { startHollowAgents } from "../../test/hollow/hollow-agents.ts";
import type { Order } from "./fleet.ts";

const requests: Record<string, number> = {};
const folders: string[] = [];

const startAgents = async (kubeconfigs: Map<string, string>) => {
  const { folder } = await startHollowAgents({
    nodes: [...kubeconfigs.keys()],
    reach: (node) => ({ kubeconfig: kubeconfigs.get(node) }),
    onRequest({ verb, resource }) {
      const kind = `${verb} ${resource}`;
      requests[kind] = (requests[kind] ?? 0) + 1;
    },
  });
  folders.push(folder);
};

process.on("message", async ({ start }: Order) => {
  if (start) await startAgents(new Map(start));
  process.send?.(requests);
});
// Closing them would report the end of every app.
process.on("disconnect", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  process.exit();
});
