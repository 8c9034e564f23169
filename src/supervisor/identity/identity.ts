/**
 * The user that an app runs as: names or ids from the spec become uid, gid, groups and home.
 *
 * /etc/passwd and /etc/group come first and cost no process; other users are looked up through NSS.
 * Caveat: groups that a directory adds to a local user are not found.
 */
import { readFileSync, statSync } from "node:fs";
import process from "node:process";
import { type Account, type Group, numericId, parseGroup, parsePasswd } from "./passwd.ts";
import { createNameService, type Member, type NameService } from "./nss.ts";
import { StartError } from "../types.ts";

export interface Identity {
  uid: number;
  gid: number;
  groups: number[];
  user: string;
  home: string;
}

/** passwd(5) and group(5). */
export interface Databases {
  users: Account[];
  groups: Group[];
}

/** What NSS found for names that are not in the files. */
export interface NssResult {
  user?: Member;
  gid?: number;
}

type NameOrId = string | number;

/** Resolves `runAsUser` and `runAsGroup`; the default is the agent's own user. */
export async function resolveIdentity(
  runAsUser: NameOrId | undefined,
  runAsGroup: NameOrId | undefined,
  { read = readDatabases, names = systemNames, self = ownIds() }: {
    read?: () => Promise<Databases>;
    names?: NameService;
    self?: { uid: number; gid: number };
  } = {},
): Promise<Identity> {
  const databases = await read();
  const user = emptyAsUndefined(runAsUser) ?? self.uid;
  const group = emptyAsUndefined(runAsGroup);
  const found = findIdentity(databases, user, group, await lookUpMissing(databases, user, group, names));
  // The agent's own user gets the agent's own group, even if passwd has another.
  const identity = group === undefined && found.uid === self.uid && self.uid !== 0
    ? { ...found, gid: self.gid, groups: [...new Set([self.gid, ...found.groups])] }
    : found;
  const isOther = identity.uid !== self.uid || identity.gid !== self.gid;
  if (isOther && self.uid !== 0) {
    throw new StartError(
      "CannotChangeUser",
      `spec.runAsUser: ${
        JSON.stringify(runAsUser ?? self.uid)
      }: the agent is not root and runs apps as uid ${self.uid} only`,
    );
  }
  return identity;
}

/** Finds the names in passwd(5) and group(5), then in the results of NSS. Pure. */
export function findIdentity(
  databases: Databases,
  user: NameOrId,
  group?: NameOrId,
  nss: NssResult = {},
): Identity {
  const local = findUser(databases, user);
  const entry = local ?? nss.user;
  const uid = entry?.uid ?? numericId(user);
  if (uid === undefined) {
    throw new StartError("UnknownUser", `spec.runAsUser: ${JSON.stringify(user)}: no such user on this node`);
  }
  const gid = group === undefined ? entry?.gid ?? uid : findGroup(databases, group) ?? nss.gid;
  if (gid === undefined) {
    throw new StartError(
      "UnknownGroup",
      `spec.runAsGroup: ${JSON.stringify(group)}: no such group on this node`,
    );
  }
  const name = entry?.name ?? String(uid);
  const member = local || !nss.user ? groupsOf(databases, name) : nss.user.groups;
  return { uid, gid, groups: [...new Set([gid, ...member])], user: name, home: entry?.home || "/" };
}

async function lookUpMissing(
  databases: Databases,
  user: NameOrId,
  group: NameOrId | undefined,
  names: NameService,
): Promise<NssResult> {
  const needsUser = findUser(databases, user) === undefined;
  const needsGroup = group !== undefined && findGroup(databases, group) === undefined;
  const [foundUser, gid] = await Promise.all([
    needsUser ? names.findUser(user).catch(lookupFailed("User", user)) : undefined,
    needsGroup ? names.findGroup(String(group)).catch(lookupFailed("Group", group)) : undefined,
  ]);
  return { user: foundUser, gid };
}

/** A failed lookup does not mean "no such user": an id would run without its groups. */
function lookupFailed(kind: "User" | "Group", value: NameOrId) {
  return (cause: Error): never => {
    throw new StartError(
      `${kind}LookupFailed`,
      `spec.runAs${kind}: ${JSON.stringify(value)}: lookup failed: ${cause.message}`,
      { cause },
    );
  };
}

function findUser({ users }: Databases, user: NameOrId) {
  const id = numericId(user);
  return users.find(({ name, uid }) => id === undefined ? name === user : uid === id);
}

/** The id of a group; an id needs no entry. */
function findGroup({ groups }: Databases, wanted: NameOrId): number | undefined {
  return numericId(wanted) ?? groups.find(({ name }) => name === wanted)?.gid;
}

function groupsOf({ groups }: Databases, user: string): number[] {
  return groups.filter(({ members }) => members.includes(user)).map(({ gid }) => gid);
}

function emptyAsUndefined(value: NameOrId | undefined): NameOrId | undefined {
  return value === "" ? undefined : value;
}

/** Shared by all starts, and so are its answers. */
const systemNames = createNameService();

/** Each start needs them, so they are parsed when they have changed. Synchronous: the thread pool would cost ten times as much. */
async function readDatabases(): Promise<Databases> {
  return { users: readUsers(), groups: readGroups() };
}

const readUsers = parsedFile("/etc/passwd", parsePasswd);
const readGroups = parsedFile("/etc/group", parseGroup);

/** Returns a function that reads and parses a file, again only if another file is there or it was written since. */
export function parsedFile<T>(path: string, parse: (text: string) => T): () => T {
  let last: { version: string; value: T } | undefined;
  return () => {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    const version = `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
    if (last?.version !== version) last = { version, value: parse(readFileSync(path, "utf8")) };
    return last.value;
  };
}

function ownIds(): { uid: number; gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}
