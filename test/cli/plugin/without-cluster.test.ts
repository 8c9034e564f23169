import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { systemSocket } from "../../../src/cli/config/config.ts";
import { askAgent } from "../../../src/cli/agent-api/ask-agent.ts";
import { loadAccess } from "../../../src/kube/access/access.ts";

const skip = existsSync(systemSocket) && "an agent of this machine is named instead";

test("who finds no agent is told how to start one, with a cluster and without", { skip }, async () => {
  await assert.rejects(
    askAgent("/nowhere/none.sock", "/status"),
    /'nckubelet agent' \('nckubelet agent --standalone' without a cluster\)/,
  );
});

test("who finds no API server is told how to do without", async () => {
  await assert.rejects(loadAccess({ env: {} }), /'nckubelet agent --standalone' needs no cluster$/);
});
