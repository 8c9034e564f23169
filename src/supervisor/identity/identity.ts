/**
 * Whom an app runs as: names or numbers from the spec become uid, gid, groups and home.
 *
 * The files of the node come first, and who is in them costs no process; the name service is asked for the others only.
 * Caveat: groups that a directory gives to a user of the files are not known here.
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { numericId, parseGroup, parsePasswd } from "./passwd.ts";
import { createNameService, type Member, type NameService } from "./nss.ts";
import { StartError } from "../start-error.ts";

export interface Identity {
  uid: number;
  gid: number;
  groups: number[];
  user: string;
  home: string;
}

export interface Databases {
  passwd: string;
  group: string;
}

/** What the name service knows beyond the files. */
export interface Beyond {
  user?: Member;
  gid?: number;
}

type NameOrId = string | number;

/** Resolves `runAsUser` and `runAsGroup`; without them it is the agent's own user. */
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
  const user = orUndefined(runAsUser) ?? self.uid;
  const group = orUndefined(runAsGroup);
  const found = findIdentity(databases, user, group, await askForMissing(databases, user, group, names));
  // The agent's own user has the agent's own group, whatever passwd says of it.
  const identity = group === undefined && found.uid === self.uid && self.uid !== 0
    ? { ...found, gid: self.gid, groups: [...new Set([self.gid, ...found.groups])] }
    : found;
  const others = identity.uid !== self.uid || identity.gid !== self.gid;
  if (others && self.uid !== 0) {
    throw new StartError(
      "CannotChangeUser",
      `spec.runAsUser: ${
        JSON.stringify(runAsUser ?? self.uid)
      }: the agent is not root and runs apps as uid ${self.uid} only`,
    );
  }
  return identity;
}

/** The pure part: looks the names up in the texts of passwd(5) and group(5), then in what else is known. */
export function findIdentity(
  databases: Databases,
  user: NameOrId,
  group?: NameOrId,
  beyond: Beyond = {},
): Identity {
  const local = findUser(databases, user);
  const entry = local ?? beyond.user;
  const uid = entry?.uid ?? numericId(user);
  if (uid === undefined) {
    throw new StartError("UnknownUser", `spec.runAsUser: ${JSON.stringify(user)}: no such user on this node`);
  }
  const gid = group === undefined ? entry?.gid ?? uid : findGroup(databases, group) ?? beyond.gid;
  if (gid === undefined) {
    throw new StartError(
      "UnknownGroup",
      `spec.runAsGroup: ${JSON.stringify(group)}: no such group on this node`,
    );
  }
  const name = entry?.name ?? String(uid);
  const member = local || !beyond.user ? groupsOf(databases, name) : beyond.user.groups;
  return { uid, gid, groups: [...new Set([gid, ...member])], user: name, home: entry?.home || "/" };
}

async function askForMissing(
  databases: Databases,
  user: NameOrId,
  group: NameOrId | undefined,
  names: NameService,
): Promise<Beyond> {
  const asksUser = findUser(databases, user) === undefined;
  const asksGroup = group !== undefined && findGroup(databases, group) === undefined;
  const [foundUser, gid] = await Promise.all([
    asksUser ? names.findUser(user).catch(lookupFailed("User", user)) : undefined,
    asksGroup ? names.findGroup(String(group)).catch(lookupFailed("Group", group)) : undefined,
  ]);
  return { user: foundUser, gid };
}

/** No answer is not "no such user": an id that has one would run without its groups. */
function lookupFailed(kind: "User" | "Group", value: NameOrId) {
  return (cause: Error): never => {
    throw new StartError(
      `${kind}LookupFailed`,
      `spec.runAs${kind}: ${JSON.stringify(value)}: cannot be looked up: ${cause.message}`,
      { cause },
    );
  };
}

function findUser({ passwd }: Databases, user: NameOrId) {
  const id = numericId(user);
  return parsePasswd(passwd).find(({ name, uid }) => id === undefined ? name === user : uid === id);
}

/** The id of a group; a number needs no entry. */
function findGroup({ group }: Databases, wanted: NameOrId): number | undefined {
  return numericId(wanted) ?? parseGroup(group).find(({ name }) => name === wanted)?.gid;
}

function groupsOf({ group }: Databases, user: string): number[] {
  return parseGroup(group).filter(({ members }) => members.includes(user)).map(({ gid }) => gid);
}

function orUndefined(value: NameOrId | undefined): NameOrId | undefined {
  return value === "" ? undefined : value;
}

/** One for all starts, so that they share its answers. */
const systemNames = createNameService();

async function readDatabases(): Promise<Databases> {
  const [passwd, group] = await Promise.all(
    ["/etc/passwd", "/etc/group"].map((path) => readFile(path, "utf8")),
  );
  return { passwd: passwd ?? "", group: group ?? "" };
}

function ownIds(): { uid: number; gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}
