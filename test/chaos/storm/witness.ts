/** The witness file, read: the story of each run as the app's own processes told it. Pure. */

/** One run of an app. */
export interface Story {
  run: string;
  uid: string;
  name: string;
  node: string;
  /** When it began, in seconds since the machine was booted. */
  began: number;
  /** It got SIGTERM. */
  termed: boolean;
  /** The status with which it ended by its own will. */
  end?: number;
  /** The script ended well and left a daemon. */
  left: boolean;
}

/** The runs in the order in which they began. A last line that is cut is left out. */
export function readWitness(text: string): Story[] {
  const stories = new Map<string, Story>();
  for (const line of text.split("\n").slice(0, -1)) {
    const [word, uid = "", name = "", run = "", node = "", , uptime, code] = line.split(" ");
    const story = stories.get(run) ?? {
      ...{ run, uid, name, node, began: Number(uptime) },
      ...{ termed: false, left: false },
    };
    stories.set(run, story);
    if (word === "term") story.termed = true;
    if (word === "end") story.end = Number(code);
    if (word === "left") story.left = true;
  }
  return [...stories.values()];
}
