/**
 * Whom an app runs as: names or numbers from the spec become uid, gid, groups and home.
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { StartError } from "./start-error.ts";

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

/** Resolves `runAsUser` and `runAsGroup`; without them it is the agent's own user. */
export async function resolveIdentity(
  runAsUser: string | number | undefined,
  runAsGroup: string | number | undefined,
  { read = readDatabases, self = ownIds() }: {
    read?: () => Promise<Databases>;
    self?: { uid: number; gid: number };
  } = {},
): Promise<Identity> {
  const databases = await read();
  const group = orUndefined(runAsGroup);
  const found = findIdentity(databases, orUndefined(runAsUser) ?? self.uid, group);
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

/** The pure part: looks the names up in the texts of passwd(5) and group(5). */
export function findIdentity(databases: Databases, user: string | number, group?: string | number): Identity {
  // A line without numbers is none: an empty one would read as 0, which is root.
  const users = parseTable(databases.passwd).filter(([, , uid, gid]) => isNumber(uid) && isNumber(gid));
  const entry = users.find((fields) => matches(fields, user));
  const uid = entry ? Number(entry[2]) : numericId(user);
  if (uid === undefined) {
    throw new StartError("UnknownUser", `spec.runAsUser: ${JSON.stringify(user)}: no such user on this node`);
  }
  const groups = parseTable(databases.group).filter(([, , gid]) => isNumber(gid));
  const gid = group === undefined ? Number(entry?.[3] ?? uid) : groupId(groups, group);
  const name = entry?.[0] ?? String(uid);
  const member = groups.filter((fields) => fields[3]?.split(",").includes(name)).map((fields) =>
    Number(fields[2])
  );
  return { uid, gid, groups: [...new Set([gid, ...member])], user: name, home: entry?.[5] || "/" };
}

function groupId(groups: string[][], group: string | number): number {
  const gid = Number(groups.find((fields) => matches(fields, group))?.[2] ?? numericId(group) ?? NaN);
  if (Number.isNaN(gid)) {
    throw new StartError(
      "UnknownGroup",
      `spec.runAsGroup: ${JSON.stringify(group)}: no such group on this node`,
    );
  }
  return gid;
}

function matches(fields: string[], nameOrId: string | number): boolean {
  const id = numericId(nameOrId);
  return id === undefined ? fields[0] === nameOrId : fields[2] === String(id);
}

function numericId(value: string | number): number | undefined {
  return isNumber(String(value)) ? Number(value) : undefined;
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,10}$/.test(text);
}

function orUndefined(value: string | number | undefined): string | number | undefined {
  return value === "" ? undefined : value;
}

function parseTable(text: string): string[][] {
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(":"));
}

async function readDatabases(): Promise<Databases> {
  const [passwd, group] = await Promise.all(
    ["/etc/passwd", "/etc/group"].map((path) => readFile(path, "utf8")),
  );
  return { passwd: passwd ?? "", group: group ?? "" };
}

function ownIds(): { uid: number; gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}
