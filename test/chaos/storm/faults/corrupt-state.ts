import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { readRecords, recordIn } from "../records.ts";

const damages = ["emptied", "cut in half", "one bit flipped", "overwritten"] as const;

/**
 * Damages a state file of a killed agent before it restarts: the record of an app, or the copy in its run. Never both: without any
 * record a running app is on hold until an operator acts.
 */
export const corruptState: Fault = {
  name: "corrupted state file",
  weight: 2,
  async run({ world, workload }, random, tell) {
    const node = random.pick(world.nodes);
    const [folder, damage, place] = [
      random.pick(["apps", "runs"] as const),
      random.pick(damages),
      random.integer(0, 1_000_000),
    ];
    tell(`kill -9 ${node.agent.name}; a file of its ${folder} is ${damage}`);
    await node.agent.kill(async () => {
      const entries = (await readdir(join(node.stateDir, folder))).sort();
      if (entries.length === 0) return;
      const path = join(node.stateDir, folder, entries[place % entries.length]!, "record.json");
      const text = await readFile(path, "utf8").catch(() => "");
      if (text === "") return;
      const uid = recordIn(text)?.app.metadata.uid;
      const others = folder === "apps" ? "runs" : "apps";
      if (!(await recordedUids(join(node.stateDir, others))).includes(uid)) return;
      tell(`${path} is ${damage}; it was about uid ${uid}`);
      // Without its record the past of an app is lost, unless it is running: its run has a copy.
      if (folder === "apps") {
        for (const app of [...workload.apps.values(), ...workload.past]) {
          if (app.uid === uid) app.excused = `its record was ${damage}`;
        }
      }
      await harm(path, text, damage, place);
      await pause(place % 1500);
    });
  },
};

async function harm(
  path: string,
  text: string,
  damage: typeof damages[number],
  place: number,
): Promise<void> {
  switch (damage) {
    case "emptied":
      return await truncate(path, 0);
    case "cut in half":
      return await truncate(path, Math.floor(text.length / 2));
    case "one bit flipped": {
      const bytes = await readFile(path);
      const at = place % bytes.length;
      bytes[at] = bytes[at]! ^ (1 << (place % 8));
      return await writeFile(path, bytes);
    }
    case "overwritten":
      return await writeFile(path, "\0".repeat(text.length));
  }
}

/** The apps that the readable records below a folder are about. */
async function recordedUids(folder: string): Promise<(string | undefined)[]> {
  return (await readRecords(folder)).map(({ app }) => app.metadata.uid).filter((uid) => uid !== undefined);
}
