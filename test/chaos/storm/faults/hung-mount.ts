import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { killProcesses } from "./kill-app.ts";

/** A mount stops to answer, and apps with a folder there have to start meanwhile: they wait, and nothing else does. */
export const hungMount: Fault = {
  name: "hung mount",
  weight: 2,
  impossible: ({ mount }) => mount ? undefined : "cannot mount FUSE file systems here",
  async run(storm, random, tell) {
    const ms = random.integer(3000, 12_000);
    tell(`the mount of some apps hangs for ${ms} ms; kill -9 these apps and another`);
    await storm.world.mount?.hang();
    try {
      await storm.workload.inTurn(async () => {
        const others = storm.workload.list("ticker", "writer", "daemon", "brood");
        for (const app of [...storm.workload.list("mounted"), random.pick(others)]) {
          await killProcesses(storm, app);
        }
      });
      await pause(ms);
    } finally {
      storm.world.mount?.answer();
    }
  },
};
