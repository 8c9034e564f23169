import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { privateFolder } from "../../src/agent/create-supervisor.ts";

const stateDir = "/var/lib/nckubelet";

test("the private folder is beside the socket, also for an agent that has none", () => {
  const folderOf = (socket: string, isRoot = true) => dirname(privateFolder({ socket, stateDir }, isRoot));
  assert.equal(folderOf("/run/nckubelet/nckubelet.sock"), "/run/nckubelet");
  assert.equal(folderOf("/srv/a/agent.sock"), "/srv/a");
  assert.equal(folderOf(""), "/run/nckubelet");
  assert.equal(folderOf("", false), stateDir);
});

test("agents with sockets in one folder have private folders of their own, the same at every start", () => {
  const [one, other] = ["/srv/one", "/srv/other"].map((stateDir) =>
    privateFolder({ socket: "/run/nckubelet/x.sock", stateDir })
  );
  assert.notEqual(one, other);
  assert.equal(privateFolder({ socket: "/run/nckubelet/y.sock", stateDir: "/srv/one/" }), one);
});
