/**
 * Asks the system's name service (NSS) for users and groups that are not in /etc/passwd and /etc/group: those of LDAP and Active
 * Directory, of /usr/lib/passwd on ostree systems, of systemd. Only libc can ask it, so getent and id do.
 *
 * Guarantees:
 * - An answer or an error is there within `timeoutMs`, whatever a name server does.
 * - The answer is the one asked for: an id is compared, and of a name libc itself (by `id`) has to know it. It may come with
 *   another spelling, as directories have several for one user.
 * - A machine without getent has nobody beyond its files.
 * - Many starts at once, as after a boot, ask once: answers are kept for `keepMs`, also those that there is nobody. Errors are not.
 *
 * Caveat: getent says "no such user" also where a name service is down and says so at once.
 */
import { execFile } from "node:child_process";
import { steadyNow } from "../../lib/time.ts";
import { type Account, numericId, parseGroup, parsePasswd } from "./passwd.ts";

/** A user with all groups but the primary one. */
export interface Member extends Account {
  groups: number[];
}

export interface NameService {
  findUser(nameOrId: string | number): Promise<Member | undefined>;
  /** The id of a group. */
  findGroup(name: string): Promise<number | undefined>;
}

export interface NameServiceOptions {
  /** Where getent and id are looked for. */
  path?: string;
  timeoutMs?: number;
  /** Makes the signal that ends a question. */
  deadline?: (ms: number) => AbortSignal;
  keepMs?: number;
  now?: () => number;
}

/** Makes an asker with a memory of its own. */
export function createNameService({
  path = "/usr/sbin:/usr/bin:/sbin:/bin",
  timeoutMs = 5_000,
  deadline = AbortSignal.timeout,
  keepMs = 10_000,
  now = steadyNow,
}: NameServiceOptions = {}): NameService {
  const asker = (): Run => {
    const signal = deadline(timeoutMs);
    return (program, args) => run(program, args, { path, timeoutMs, signal });
  };
  const findUser = keeping((key) => askUser(key, asker()), keepMs, now);
  const findGroup = keeping((key) => askGroup(key, asker()), keepMs, now);
  return { findUser: (nameOrId) => findUser(String(numericId(nameOrId) ?? nameOrId)), findGroup };
}

type Run = (program: string, args: string[]) => Promise<string>;

async function askUser(key: string, run: Run): Promise<Member | undefined> {
  const account = parsePasswd(await getent("passwd", key, run)).at(0);
  const id = numericId(key);
  if (!account || (id !== undefined && id !== account.uid)) return undefined;
  const args = ["-G", "--", id === undefined ? key : account.name];
  const printed = await run("id", args);
  const groups = printed.trim().split(/\s+/).map(numericId);
  if (!groups.every((gid) => gid !== undefined)) {
    throw new Error(`id ${args.join(" ")}: prints ${JSON.stringify(printed)}, not the ids of groups`);
  }
  return { ...account, groups: groups.filter((gid) => gid !== account.gid) };
}

async function askGroup(name: string, run: Run): Promise<number | undefined> {
  return parseGroup(await getent("group", name, run)).at(0)?.gid;
}

/** The line of a key, or nothing. */
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

function run(
  program: string,
  args: string[],
  { path, timeoutMs, signal }: { path: string; timeoutMs: number; signal: AbortSignal },
): Promise<string> {
  const failed = (why: string, cause: Error) =>
    new Error(`${[program, ...args].join(" ")}: ${why}`, { cause });
  // A group of a directory may list many thousand members.
  const options = { env: { PATH: path, LC_ALL: "C" }, cwd: "/", maxBuffer: 1 << 24 };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (cause, stdout, stderr) => {
      signal.removeEventListener("abort", giveUp);
      if (!cause) return resolve(stdout);
      reject(failed(stderr.trim() || `ended with ${cause.signal ?? cause.code}`, cause));
    });
    child.stdin?.end();
    // By hand: execFile's `timeout` waits for the end of what cannot be ended, its `signal` sends no SIGKILL.
    const giveUp = () => {
      child.kill("SIGKILL");
      reject(failed(`no answer within ${timeoutMs / 1000} s`, signal.reason));
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
}

/** Asks for a key once per `keepMs`, whoever wants to know. */
function keeping<Answer>(
  ask: (key: string) => Promise<Answer>,
  keepMs: number,
  now: () => number,
): (key: string) => Promise<Answer> {
  const kept = new Map<string, { since: number; answer: Promise<Answer> }>();
  return (key) => {
    for (const [old, { since }] of kept) {
      if (now() - since < keepMs) break;
      kept.delete(old);
    }
    const known = kept.get(key)?.answer;
    if (known) return known;
    const answer = ask(key);
    kept.set(key, { since: now(), answer });
    answer.catch(() => kept.delete(key));
    return answer;
  };
}
