/** Parses passwd(5) and group(5), from the files or the output of getent. Pure. */

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

/** Returns the users. A line without ids is skipped: an empty id would read as 0, which is root. */
export function parsePasswd(text: string): Account[] {
  return linesOf(text).flatMap(([name = "", , uid, gid, , home = ""]) =>
    isNumber(uid) && isNumber(gid) ? [{ name, uid: Number(uid), gid: Number(gid), home }] : []
  );
}

export function parseGroup(text: string): Group[] {
  return linesOf(text).flatMap(([name = "", , gid, members = ""]) =>
    isNumber(gid) ? [{ name, gid: Number(gid), members: members.split(",") }] : []
  );
}

/** Returns a number, or digits, as an id; undefined for a name. */
export function numericId(value: string | number): number | undefined {
  return isNumber(String(value)) ? Number(value) : undefined;
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,10}$/.test(text);
}

function linesOf(text: string): string[][] {
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(":"));
}
