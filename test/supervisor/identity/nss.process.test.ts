import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseGroup, parsePasswd } from "../../../src/supervisor/identity/passwd.ts";
import { findIdentity, resolveIdentity } from "../../../src/supervisor/identity/identity.ts";
import { createNameService } from "../../../src/supervisor/identity/nss.ts";
import { waitUntilNoProcess } from "../../harness/processes.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { findProgram } from "../real-programs/find-program.ts";

const root = tempFolder({ after }).path;

/** A machine whose getent and id are these scripts. `asked` returns their arguments. */
async function machineWith(programs: { getent?: string; id?: string }) {
  const path = await mkdtemp(join(root, "bin-"));
  const notes = join(path, "asked");
  await writeFile(notes, "");
  for (const [name, script] of Object.entries(programs)) {
    const program = join(path, name);
    await writeFile(program, `#!/bin/sh\necho "${name} $*" >>'${notes}'\n${script}\n`);
    await chmod(program, 0o755);
  }
  return { path, asked: async () => (await readFile(notes, "utf8")).trim().split("\n") };
}

const hangs = "kill -STOP $$";
const directory = {
  getent: `case "$*" in
    "passwd svc@corp.example" | "passwd 12345")
      echo 'svc@corp.example:*:12345:20000:Service:/home/corp/svc:/bin/bash' ;;
    "passwd SVC@corp.example") echo 'svc@corp.example:*:12345:20000::/home/corp/svc:' ;;
    "group staff@corp.example") echo 'staff@corp.example:*:20001:svc@corp.example,other@corp.example' ;;
    *) exit 2 ;;
  esac`,
  id: "echo 20000 20001 20002",
};
const svc = {
  name: "svc@corp.example",
  uid: 12345,
  gid: 20000,
  home: "/home/corp/svc",
  groups: [20001, 20002],
};

test("a user of a directory is found by name, by id and by another spelling, with home and groups", async () => {
  const { path, asked } = await machineWith(directory);
  const names = createNameService({ path });
  for (const key of ["svc@corp.example", 12345, "12345"]) assert.deepEqual(await names.findUser(key), svc);
  assert.deepEqual(await names.findUser("SVC@corp.example"), svc);
  assert.deepEqual((await asked()).filter((line) => line.startsWith("id")), [
    "id -G -- svc@corp.example",
    "id -G -- svc@corp.example",
    "id -G -- SVC@corp.example",
  ]);
});

test("a group of a directory is found by name", async () => {
  const names = createNameService(await machineWith(directory));
  assert.equal(await names.findGroup("staff@corp.example"), 20001);
  assert.equal(await names.findGroup("ghosts@corp.example"), undefined);
});

test("a user unknown to getent is undefined, and id does not run", async () => {
  const { path, asked } = await machineWith(directory);
  assert.equal(await createNameService({ path }).findUser("ghost"), undefined);
  assert.deepEqual(await asked(), ["getent passwd ghost"]);
});

test("a machine without getent has no users beyond its files", async () => {
  const names = createNameService(await machineWith({}));
  assert.equal(await names.findUser("svc@corp.example"), undefined);
  assert.equal(await names.findUser(12345), undefined);
  assert.equal(await names.findGroup("staff@corp.example"), undefined);
});

test("a name service that hangs is an error that says so, and the program is killed", async () => {
  const { path } = await machineWith({ getent: hangs });
  const names = createNameService({ path, timeoutMs: 100 });
  await assert.rejects(names.findUser("svc"), { message: "getent passwd svc: no answer within 0.1 s" });
  await assert.rejects(names.findGroup("staff"), { message: "getent group staff: no answer within 0.1 s" });
  await waitUntilNoProcess(path);
});

test("one deadline covers both programs", async () => {
  const { path, asked } = await machineWith({ ...directory, id: hangs });
  const clock = new AbortController();
  const names = createNameService({ path, deadline: () => clock.signal });
  const refused = assert.rejects(names.findUser(12345), {
    message: "id -G -- svc@corp.example: no answer within 5 s",
  });
  await waitFor("id is asked", async () => (await asked()).some((line) => line.startsWith("id ")));
  clock.abort();
  await refused;
  await waitUntilNoProcess(path);
});

test("a program that fails or prints something else is an error with its output", async () => {
  const userOf = async (programs: { getent?: string; id?: string }) =>
    createNameService(await machineWith({ ...directory, ...programs })).findUser("svc@corp.example");
  await assert.rejects(userOf({ getent: "echo no database >&2; exit 1" }), {
    message: "getent passwd svc@corp.example: no database",
  });
  await assert.rejects(userOf({ getent: "kill -SEGV $$" }), {
    message: "getent passwd svc@corp.example: ended with SIGSEGV",
  });
  // A getent that matches patterns may find another user: libc, behind id, does not know the name then.
  await assert.rejects(userOf({ id: "echo no such user >&2; exit 1" }), {
    message: "id -G -- svc@corp.example: no such user",
  });
  await assert.rejects(userOf({ id: "echo 20000 staff" }), {
    message: 'id -G -- svc@corp.example: unexpected output "20000 staff\\n", expected group ids',
  });
});

test("an answer with another id, as for a name of digits or an id too large, is ignored", async () => {
  const { path } = await machineWith({ getent: "echo 'root:x:0:0::/root:/bin/sh'", id: "echo 0" });
  const names = createNameService({ path });
  assert.equal((await names.findUser("0"))?.uid, 0);
  assert.equal(await names.findUser(4_294_967_296), undefined);
  assert.equal(await names.findUser("1234"), undefined);
});

test("names that getent takes for an option or an id are never looked up", async () => {
  const { path, asked } = await machineWith({ getent: "echo 'root:x:0:0::/root:/bin/sh'", id: "echo 0" });
  const names = createNameService({ path });
  for (const key of ["+0", "-s", " 0", "42949672960", ""]) {
    assert.equal(await names.findUser(key), undefined, key);
    assert.equal(await names.findGroup(key), undefined, key);
  }
  assert.deepEqual(await asked(), [""]);
});

test("concurrent lookups share one answer, which expires", async () => {
  let now = 0;
  const { path, asked } = await machineWith(directory);
  const names = createNameService({ path, ttlMs: 10_000, now: () => now });
  const keys = ["svc@corp.example", "svc@corp.example", "ghost", "ghost"];
  assert.deepEqual(await Promise.all(keys.map(names.findUser)), [svc, svc, undefined, undefined]);
  assert.equal((await asked()).length, 3);
  now = 9_999;
  await Promise.all(keys.map(names.findUser));
  assert.equal((await asked()).length, 3);
  now = 10_000;
  await Promise.all(keys.map(names.findUser));
  assert.equal((await asked()).length, 6);
});

test("errors are not cached", async () => {
  const { path, asked } = await machineWith({ getent: "exit 1" });
  const names = createNameService({ path });
  await assert.rejects(names.findUser("svc"), /ended with 1/);
  await assert.rejects(names.findUser("svc"), /ended with 1/);
  assert.equal((await asked()).length, 2);
});

test("the name service of this machine agrees with its files", {
  skip: !findProgram("getent") && "no getent",
}, async () => {
  const [passwd, group] = await Promise.all(
    ["/etc/passwd", "/etc/group"].map((path) => readFile(path, "utf8")),
  );
  const files = { users: parsePasswd(passwd ?? ""), groups: parseGroup(group ?? "") };
  const none = { read: async () => ({ users: [], groups: [] }), self: { uid: 0, gid: 0 } };
  const sorted = <T extends { groups: number[] }>(found: T): T => ({
    ...found,
    groups: found.groups.toSorted(),
  });
  const users = files.users.map(({ name }) => name);
  const members = files.groups.flatMap(({ members }) => members).filter((name) => users.includes(name));
  for (const user of new Set(["root", ...users.slice(-1), ...members.slice(0, 1)])) {
    const fromFiles = findIdentity(files, user);
    assert.deepEqual(sorted(await resolveIdentity(user, undefined, none)), sorted(fromFiles));
    assert.deepEqual(
      sorted(await resolveIdentity(fromFiles.uid, "root", none)),
      sorted(findIdentity(files, fromFiles.uid, "root")),
    );
  }
  await assert.rejects(resolveIdentity("nobody-here", undefined, none), { reason: "UnknownUser" });
  await assert.rejects(resolveIdentity("root", "nobody-here", none), { reason: "UnknownGroup" });
});
