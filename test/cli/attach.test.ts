import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "./call.ts";

test("run --attach shows what the follower had not seen when the app ended, and nothing twice", async () => {
  const folder = await mkdtemp(join(tmpdir(), "nckubelet-attach-"));
  let phase: string | undefined;
  // An agent whose followed log is behind: it never sends the second line.
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    if (method === "PUT") phase = "Running";
    const app = { metadata: { namespace: "default", name: "job" }, spec: {}, status: { phase } };
    if (url.includes("follow=true")) {
      response.write("first\n");
      phase = "Succeeded";
    } else if (url.includes("/logs")) response.end("first\nsecond\n");
    else if (phase === undefined) response.writeHead(404).end("{}");
    else response.end(JSON.stringify(app));
  });
  try {
    const socket = join(folder, "agent.sock");
    server.listen(socket);
    await once(server, "listening");
    const script = join(folder, "job.sh");
    await writeFile(script, "");
    const said = await call(["run", "--attach", "--socket", socket, script]).done;
    assert.deepEqual(said, { code: 0, stdout: "first\nsecond\n", stderr: "default/job has ended well\n" });
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
});
