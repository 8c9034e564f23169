/** Parses the witness file, in which the app's own processes record the events of each run. Pure. */
import { realNode } from "./node.ts";

/** One run of an app. */
export interface Story {
  run: string;
  uid: string;
  name: string;
  node: string;
  /** Its start, in seconds since boot. */
  began: number;
  /** It got SIGTERM. */
  termed: boolean;
  /** Its exit status if it ended by itself. */
  end?: number;
  /** Whether the script ended with success and left a daemon. */
  left: boolean;
}

/** Returns the runs in the order of their starts. Skips a truncated last line. */
export function readWitness(text: string): Story[] {
  const stories = new Map<string, Story>();
  for (const line of text.split("\n").slice(0, -1)) {
    const [word, uid = "", name = "", run = "", node = "", , uptime, code] = line.split(" ");
    const story = stories.get(run) ?? {
      ...{ run, uid, name, node: realNode(node), began: Number(uptime) },
      ...{ termed: false, left: false },
    };
    stories.set(run, story);
    if (word === "term") story.termed = true;
    if (word === "end") story.end = Number(code);
    if (word === "left") story.left = true;
  }
  return [...stories.values()];
}
