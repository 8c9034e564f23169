import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findIdentity, parsedFile, resolveIdentity } from "../../../src/supervisor/identity/identity.ts";
import type { NameService } from "../../../src/supervisor/identity/nss.ts";
import { parseGroup, parsePasswd } from "../../../src/supervisor/identity/passwd.ts";
import { tempFolder } from "../../temp-folder.ts";

const databases = {
  users: parsePasswd(
    "root:x:0:0:root:/root:/bin/bash\nweb:x:1001:1002:Web:/srv/web:/bin/sh\n1234:x:77:77::/:/bin/sh\n",
  ),
  groups: parseGroup("root:x:0:\nwebbers:x:1002:\nssl:x:50:web,other\nadm:x:4:other\n"),
};
const read = async () => databases;

/** A name service with a user and a group of a directory that records the lookups. */
function namesOf() {
  const asked: (string | number)[] = [];
  const svc = { name: "svc@corp.example", uid: 12345, gid: 20000, home: "/home/corp/svc", groups: [20001] };
  const names: NameService = {
    findUser: async (key) => {
      asked.push(key);
      return key === svc.name || key === svc.uid ? svc : undefined;
    },
    findGroup: async (key) => {
      asked.push(key);
      return key === "staff@corp.example" ? 20001 : undefined;
    },
  };
  return { names, asked };
}

test("a name resolves to id, home, primary group and groups", () => {
  assert.deepEqual(findIdentity(databases, "web"), {
    uid: 1001,
    gid: 1002,
    groups: [1002, 50],
    user: "web",
    home: "/srv/web",
  });
});

test("an id with an entry is the same as its name; one without is its own group", () => {
  assert.deepEqual(findIdentity(databases, 1001), findIdentity(databases, "web"));
  assert.deepEqual(findIdentity(databases, "5555"), {
    uid: 5555,
    gid: 5555,
    groups: [5555],
    user: "5555",
    home: "/",
  });
});

test("runAsGroup replaces the primary group", () => {
  assert.deepEqual(findIdentity(databases, "web", "adm").groups, [4, 50]);
  assert.throws(() => findIdentity(databases, "web", "nobody-here"), /spec\.runAsGroup: "nobody-here"/);
});

test("an unknown name is refused with the field and the value", () => {
  assert.throws(() => findIdentity(databases, "ghost"), /spec\.runAsUser: "ghost": no such user/);
});

test("an agent that is not root runs apps with its own group, whatever passwd says", async () => {
  for (const self of [{ uid: 1001, gid: 998 }, { uid: 74001, gid: 0 }]) {
    const { uid, gid, groups } = await resolveIdentity(undefined, undefined, {
      read,
      names: namesOf().names,
      self,
    });
    assert.deepEqual([uid, gid, groups[0]], [self.uid, self.gid, self.gid]);
  }
  const self = { uid: 1001, gid: 998 };
  await assert.rejects(resolveIdentity(undefined, "root", { read, self }), /the agent is not root/);
});

test("an agent that is not root runs apps only as its own user", async () => {
  const self = { uid: 1001, gid: 1002 };
  assert.equal((await resolveIdentity(undefined, undefined, { read, self })).uid, 1001);
  assert.equal((await resolveIdentity("web", "", { read, self })).uid, 1001);
  await assert.rejects(resolveIdentity("root", undefined, { read, self }), /the agent is not root/);
});

test("users and groups in the files are not looked up through NSS", async () => {
  const { names, asked } = namesOf();
  const self = { uid: 0, gid: 0 };
  await resolveIdentity(undefined, undefined, { read, names, self });
  await resolveIdentity("web", "adm", { read, names, self });
  await resolveIdentity(1001, 4, { read, names, self });
  await resolveIdentity("web", 4711, { read, names, self });
  assert.deepEqual(asked, []);
});

test("a user of a directory gets its group, groups and home, by name and by id", async () => {
  const { names } = namesOf();
  for (const user of ["svc@corp.example", 12345]) {
    assert.deepEqual(await resolveIdentity(user, undefined, { read, names, self: { uid: 0, gid: 0 } }), {
      uid: 12345,
      gid: 20000,
      groups: [20000, 20001],
      user: "svc@corp.example",
      home: "/home/corp/svc",
    });
  }
});

test("runAsGroup may be a group of a directory, and replaces the primary group of its users", async () => {
  const { names } = namesOf();
  const options = { read, names, self: { uid: 0, gid: 0 } };
  assert.deepEqual((await resolveIdentity("web", "staff@corp.example", options)).groups, [20001, 50]);
  assert.deepEqual((await resolveIdentity("svc@corp.example", "adm", options)).groups, [4, 20001]);
});

test("a user unknown to NSS is refused by name, and runs by id", async () => {
  const { names, asked } = namesOf();
  const options = { read, names, self: { uid: 0, gid: 0 } };
  await assert.rejects(resolveIdentity("ghost", undefined, options), { reason: "UnknownUser" });
  await assert.rejects(resolveIdentity("web", "ghosts", options), { reason: "UnknownGroup" });
  assert.deepEqual(await resolveIdentity(5555, undefined, options), findIdentity(databases, 5555));
  assert.deepEqual(asked, ["ghost", "ghosts", 5555]);
});

test("an NSS error prevents the start, also by id", async () => {
  const cause = new Error("getent: no answer within 5 s");
  const fails = () => Promise.reject(cause);
  const options = { read, names: { findUser: fails, findGroup: fails }, self: { uid: 0, gid: 0 } };
  await assert.rejects(resolveIdentity(12345, undefined, options), {
    reason: "UserLookupFailed",
    message: "spec.runAsUser: 12345: lookup failed: getent: no answer within 5 s",
    cause,
  });
  await assert.rejects(resolveIdentity("web", "staff@corp.example", options), {
    reason: "GroupLookupFailed",
    message: 'spec.runAsGroup: "staff@corp.example": lookup failed: getent: no answer within 5 s',
    cause,
  });
});

test("a line without an id is neither a user nor a group, and never root", () => {
  const broken = { users: parsePasswd("web:x:::Web:/srv/web:/bin/sh\n"), groups: parseGroup("adm:x::web\n") };
  assert.throws(() => findIdentity(broken, "web"), { reason: "UnknownUser" });
  assert.throws(() => findIdentity({ ...broken, users: databases.users }, "web", "adm"), {
    reason: "UnknownGroup",
  });
});

test("a file is parsed again when it was written or replaced, and only then", async () => {
  using temp = tempFolder();
  const path = join(temp.path, "passwd");
  let parsed = 0;
  const read = parsedFile(path, (text) => (parsed++, text));
  await writeFile(path, "one");
  assert.deepEqual([read(), read(), parsed], ["one", "one", 1]);
  await writeFile(path, "longer");
  assert.deepEqual([read(), read(), parsed], ["longer", "longer", 2]);
  // As useradd does it.
  await writeFile(`${path}+`, "second");
  await rename(`${path}+`, path);
  assert.deepEqual([read(), read(), parsed], ["second", "second", 3]);
});
