/**
 * A log that requests may follow, and a look at what those leave behind who did.
 *
 * A follower is a place in the server's count, an open file and, once the log has been quiet for a while, a watch on its folder. When
 * the client goes, all of it has to go. Caveat: files and watches are seen where there is a /proc, elsewhere the count only.
 */
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { sleep } from "../../../src/lib/sleep.ts";
import type { Services } from "../../../src/server/services.ts";
import { servicesWith, viewWith, web } from "../../server/fake-agent.ts";
import { holds } from "../engine.ts";
import { scratchFolder } from "./scratch.ts";

export interface FollowedLog {
  /** An agent whose app `default/web` writes the log. */
  services: Services;
  /** Whether anybody follows it. */
  isFollowed(): boolean;
  /** Returns when a quiet follower watches the folder, soon where that cannot be seen, or when `signal` aborts. */
  whenWatched(signal: AbortSignal): Promise<void>;
  /** Asserts that there were never too many at once, and that nobody is left. */
  checkReleased(): Promise<void>;
  close(): void;
}

/** By far longer than a follower needs to end on a busy machine, and less than a case that hangs. */
const patienceMs = 10_000;

/** Makes a log of two lines. */
export function createFollowedLog(): FollowedLog {
  const folder = scratchFolder("followed");
  const logFile = join(folder, "app.log");
  writeFileSync(logFile, "one\ntwo\n");
  const shown = { ...web, logFile };
  const app = (namespace: string, name: string) =>
    namespace === "default" && name === "web" ? shown : undefined;
  const followers = countFollowers();
  return {
    services: servicesWith({ view: viewWith({ apps: () => [shown], app }), followers }),
    isFollowed: () => followers.now > 0,
    async whenWatched(signal) {
      // Those who follow have their first bytes sooner than that, and nothing has to be looked at for them.
      await sleep(20, signal);
      const isOver = () => signal.aborted || watchesOn(folder) !== 0;
      await waitUntil(isOver, "a quiet follower does not watch the folder");
    },
    async checkReleased() {
      const most = followers.takeMost();
      if (most === 0) return;
      const what = "a follower that was cut off holds on to";
      await waitUntil(() => followers.now === 0, `${what} its place`);
      await waitUntil(() => openIn(folder) === 0, `${what} a file`);
      await waitUntil(() => !watchesOn(folder), `${what} a watch`);
      holds(most <= followers.most, `${most} followed at once, and ${followers.most} may`);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** The count that the server keeps, with the highest that it was since it was last asked for. */
function countFollowers() {
  let [now, highest] = [0, 0];
  return {
    most: 2,
    get now() {
      return now;
    },
    set now(count) {
      now = count;
      highest = Math.max(highest, now);
    },
    takeMost() {
      const taken = highest;
      highest = now;
      return taken;
    },
  };
}

async function waitUntil(isSo: () => boolean, otherwise: string): Promise<void> {
  for (const giveUpAt = performance.now() + patienceMs; !isSo(); await sleep(5)) {
    holds(performance.now() < giveUpAt, otherwise);
  }
}

const descriptors = "/proc/self/fd";

/** How many files of the folder are open in this process. */
function openIn(folder: string): number {
  return openFiles().filter(({ path }) => path.startsWith(`${folder}/`)).length;
}

/** How many watches there are on the folder; undefined where the kernel does not tell. */
function watchesOn(folder: string): number | undefined {
  if (!existsSync(descriptors)) return undefined;
  const mark = ` ino:${statSync(folder).ino.toString(16)} `;
  const watchers = openFiles().filter(({ path }) => path === "anon_inode:inotify");
  return watchers.flatMap(({ fd }) => readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").split("\n"))
    .filter((line) => line.startsWith("inotify ") && line.includes(mark)).length;
}

function openFiles(): { fd: string; path: string }[] {
  if (!existsSync(descriptors)) return [];
  return readdirSync(descriptors).map((fd) => {
    try {
      return { fd, path: readlinkSync(join(descriptors, fd)) };
    } catch {
      // That of the listing itself is closed by now, and another thread may have closed one of its own.
      return { fd, path: "" };
    }
  });
}
