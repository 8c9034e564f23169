/**
 * A log that requests may follow, and a check of what followers leave behind.
 *
 * A follower is a place in the server's count, an open file and, once the log has been quiet for a while, a watch on its folder. When
 * the client disconnects, all of it must go. Caveat: files and watches are checked only if there is a /proc.
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
import { firstPart } from "../../supervisor/logs/log-files.ts";

export interface FollowedLog {
  /** An agent whose app `default/web` writes the log. */
  services: Services;
  /** Reports whether it has a follower. */
  isFollowed(): boolean;
  /** Resolves when an idle follower watches the folder, soon if that cannot be checked, or when `signal` aborts. */
  whenWatched(signal: AbortSignal): Promise<void>;
  /** Asserts that there were never too many followers at once, and that none remains. */
  checkReleased(): Promise<void>;
  close(): void;
}

/** Far longer than a follower needs to end on a busy machine, and shorter than the limit for a case that hangs. */
const patienceMs = 10_000;

/** Creates a log of two lines. */
export function createFollowedLog(): FollowedLog {
  const folder = scratchFolder("followed");
  const logFile = firstPart(folder);
  writeFileSync(logFile, "one\ntwo\n");
  const shown = { ...web, logFile };
  const app = (namespace: string, name: string) =>
    namespace === "default" && name === "web" ? shown : undefined;
  const followers = countFollowers();
  return {
    services: servicesWith({ view: viewWith({ apps: () => [shown], app }), followers }),
    isFollowed: () => followers.now > 0,
    async whenWatched(signal) {
      // Followers get their first bytes sooner than that, without a poll.
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

/** The server's count of followers, with its maximum since the last read. */
function countFollowers() {
  let [now, highest] = [0, 0];
  return {
    most: 2,
    use: "follow a log or watch apps",
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

/** Returns the number of open files of the folder in this process. */
function openIn(folder: string): number {
  return openFiles().filter(({ path }) => path.startsWith(`${folder}/`)).length;
}

/** Returns the number of watches on the folder; undefined if the kernel does not report it. */
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
      // The descriptor of the listing itself is closed by now, and another thread may have closed one.
      return { fd, path: "" };
    }
  });
}
