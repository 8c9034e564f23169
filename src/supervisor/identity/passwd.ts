/**
 * Reads passwd(5) and group(5), from their files or as getent prints them. Pure.
 */
export interface Account {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

export interface Group {
  name: string;
  gid: number;
  members: string[];
}

/** The users of a text. A line without numbers is none: an empty one would read as 0, which is root. */
export function parsePasswd(text: string): Account[] {
  return linesOf(text).flatMap(([name = "", , uid, gid, , home = ""]) =>
    isNumber(uid) && isNumber(gid) ? [{ name, uid: Number(uid), gid: Number(gid), home }] : []
  );
}

/** The groups of a text. */
export function parseGroup(text: string): Group[] {
  return linesOf(text).flatMap(([name = "", , gid, members = ""]) =>
    isNumber(gid) ? [{ name, gid: Number(gid), members: members.split(",") }] : []
  );
}

/** The id that a number or digits stand for; undefined for a name. */
export function numericId(value: string | number): number | undefined {
  return isNumber(String(value)) ? Number(value) : undefined;
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,10}$/.test(text);
}

function linesOf(text: string): string[][] {
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(":"));
}
