import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { systemSocket } from "../../../src/cli/config/config.ts";
import { askAgent } from "../../../src/cli/agent-api/ask-agent.ts";
import { loadAccess } from "../../../src/kube/access/access.ts";

const skip = existsSync(systemSocket) && "the error names the agent of this machine instead";

test("askAgent() says how to start an agent, with and without a cluster", { skip }, async () => {
  await assert.rejects(
    askAgent("/nowhere/none.sock", "/status"),
    /'nckubelet agent' \('nckubelet agent --standalone' without a cluster\)/,
  );
});

test("loadAccess() says how to run without an API server", async () => {
  await assert.rejects(loadAccess({ env: {} }), /'nckubelet agent --standalone' needs no cluster$/);
});
