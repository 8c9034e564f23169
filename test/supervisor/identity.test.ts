import assert from "node:assert/strict";
import { test } from "node:test";
import { findIdentity, resolveIdentity } from "../../src/supervisor/identity.ts";

const databases = {
  passwd: "root:x:0:0:root:/root:/bin/bash\nweb:x:1001:1002:Web:/srv/web:/bin/sh\n1234:x:77:77::/:/bin/sh\n",
  group: "root:x:0:\nwebbers:x:1002:\nssl:x:50:web,other\nadm:x:4:other\n",
};
const read = async () => databases;

test("a name brings its id, home, primary group and the groups it is a member of", () => {
  assert.deepEqual(findIdentity(databases, "web"), {
    uid: 1001,
    gid: 1002,
    groups: [1002, 50],
    user: "web",
    home: "/srv/web",
  });
});

test("an id that has an entry is the same as its name; one without runs with itself as group", () => {
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

test("an agent that is not root runs apps in the group that it has itself, whatever passwd says", async () => {
  for (const self of [{ uid: 1001, gid: 998 }, { uid: 74001, gid: 0 }]) {
    const { uid, gid, groups } = await resolveIdentity(undefined, undefined, { read, self });
    assert.deepEqual([uid, gid, groups[0]], [self.uid, self.gid, self.gid]);
  }
  const self = { uid: 1001, gid: 998 };
  await assert.rejects(resolveIdentity(undefined, "root", { read, self }), /the agent is not root/);
});

test("an agent that is not root runs apps as itself only", async () => {
  const self = { uid: 1001, gid: 1002 };
  assert.equal((await resolveIdentity(undefined, undefined, { read, self })).uid, 1001);
  assert.equal((await resolveIdentity("web", "", { read, self })).uid, 1001);
  await assert.rejects(resolveIdentity("root", undefined, { read, self }), /the agent is not root/);
});
