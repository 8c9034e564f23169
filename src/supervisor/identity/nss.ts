/**
 * Looks up users and groups that are not in /etc/passwd and /etc/group through the Name Service Switch (NSS): those of LDAP and Active
 * Directory, of /usr/lib/passwd on ostree systems, of systemd. Only libc has an API for it, so it runs getent and id.
 *
 * Guarantees:
 * - A lookup returns or fails within `timeoutMs`, even if a name server hangs.
 * - The answer is the requested user: an id must be equal, and libc itself (by `id`) must know a name. The name may be spelled
 *   differently: directories have several spellings for one user.
 * - A machine without getent has no users beyond its files.
 * - Many starts at once, as after a boot, share one lookup: answers are cached for `ttlMs`, also negative ones. Errors are not.
 *
 * Caveat: getent also reports "no such user" if a name service is down and fails at once.
 */
import { runProgram } from "../../lib/deadlines/deadlines.ts";
import { steadyNow } from "../../lib/time.ts";
import { type Account, numericId, parseGroup, parsePasswd } from "./passwd.ts";

/** A user with all groups but the primary one. */
export interface Member extends Account {
  groups: number[];
}

export interface NameService {
  findUser(nameOrId: string | number): Promise<Member | undefined>;
  findGroup(name: string): Promise<number | undefined>;
}

export interface NameServiceOptions {
  /** The search path for getent and id. */
  path?: string;
  timeoutMs?: number;
  /** Creates the signal that ends a lookup. */
  deadline?: (ms: number) => AbortSignal;
  ttlMs?: number;
  now?: () => number;
}

export function createNameService({
  path = "/usr/sbin:/usr/bin:/sbin:/bin",
  timeoutMs = 5_000,
  deadline = AbortSignal.timeout,
  ttlMs = 10_000,
  now = steadyNow,
}: NameServiceOptions = {}): NameService {
  const startLookup = (): Run => {
    const signal = deadline(timeoutMs);
    return async (program, args) => (await runProgram(program, args, { path, timeoutMs, signal })).toString();
  };
  const findUser = cached((key) => lookUpUser(key, startLookup()), ttlMs, now);
  const findGroup = cached((key) => lookUpGroup(key, startLookup()), ttlMs, now);
  return { findUser: (nameOrId) => findUser(String(numericId(nameOrId) ?? nameOrId)), findGroup };
}

type Run = (program: string, args: string[]) => Promise<string>;

async function lookUpUser(key: string, run: Run): Promise<Member | undefined> {
  const account = parsePasswd(await getent("passwd", key, run)).at(0);
  const id = numericId(key);
  if (!account || (id !== undefined && id !== account.uid)) return undefined;
  const args = ["-G", "--", id === undefined ? key : account.name];
  const printed = await run("id", args);
  const groups = printed.trim().split(/\s+/).map(numericId);
  if (!groups.every((gid) => gid !== undefined)) {
    throw new Error(`id ${args.join(" ")}: unexpected output ${JSON.stringify(printed)}, expected group ids`);
  }
  return { ...account, groups: groups.filter((gid) => gid !== account.gid) };
}

async function lookUpGroup(name: string, run: Run): Promise<number | undefined> {
  return parseGroup(await getent("group", name, run)).at(0)?.gid;
}

/** Returns the line of a key, or an empty text. */
async function getent(database: "passwd" | "group", key: string, run: Run): Promise<string> {
  // getent takes "-s" for an option, and "+0" for the id of root.
  if (!/^(\d{1,10}|[A-Za-z_].*)$/.test(key)) return "";
  try {
    return await run("getent", [database, key]);
  } catch (error) {
    const { code } = (error as Error).cause as { code?: unknown };
    const noSuchKey = 2;
    if (code === noSuchKey || code === "ENOENT") return "";
    throw error;
  }
}

function cached<Answer>(
  ask: (key: string) => Promise<Answer>,
  ttlMs: number,
  now: () => number,
): (key: string) => Promise<Answer> {
  const answers = new Map<string, { since: number; answer: Promise<Answer> }>();
  return (key) => {
    for (const [old, { since }] of answers) {
      if (now() - since < ttlMs) break;
      answers.delete(old);
    }
    const known = answers.get(key)?.answer;
    if (known) return known;
    const answer = ask(key);
    answers.set(key, { since: now(), answer });
    answer.catch(() => answers.delete(key));
    return answer;
  };
}
