import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { followAppLog } from "../../../src/cli/run/followed-log.ts";
import { tempFolder } from "../../temp-folder.ts";
import { call } from "../call.ts";

/** An agent whose follower is behind when the app ends: `late` is sent after the command has read what is `kept` of the log. */
async function attachTo({ early, late, kept }: { early: string; late: string; kept: string }) {
  using temp = tempFolder();
  const folder = temp.path;
  let phase: string | undefined;
  let follower: ServerResponse | undefined;
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    if (method === "PUT") phase = "Running";
    const app = { metadata: { namespace: "default", name: "job" }, spec: {}, status: { phase } };
    if (url.includes("follow=true")) {
      follower = response;
      response.write(early);
      phase = "Succeeded";
    } else if (url.includes("/logs")) {
      response.end(kept);
      follower?.write(late);
    } else if (phase === undefined) response.writeHead(404).end("{}");
    else if (url.includes("watch=true")) {
      response.end(`${JSON.stringify({ type: "MODIFIED", object: app })}\n`);
    } else response.end(JSON.stringify(app));
  });
  try {
    const socket = join(folder, "agent.sock");
    server.listen(socket);
    await once(server, "listening");
    const script = join(folder, "job.sh");
    await writeFile(script, "");
    return await call(["run", "--attach", "--socket", socket, script]).done;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("run --attach shows what the follower had not received when the app ended, and nothing twice", async () => {
  const output = await attachTo({ early: "first\n", late: "second\n", kept: "first\nsecond\n" });
  assert.deepEqual(output, { code: 0, stdout: "first\nsecond\n", stderr: "default/job has succeeded\n" });
});

test("run --attach shows the end of a log whose start was rotated away", async () => {
  const output = await attachTo({ early: "one\ntwo\n", late: "three\nfour\n", kept: "three\nfour\n" });
  assert.equal(output.stdout, "one\ntwo\nthree\nfour\n");
});

const name = { namespace: "default", name: "job" };
const bytes = (text: string) => new TextEncoder().encode(text);

test("caughtUp() waits for a follower that pauses before the end", async () => {
  let text = "";
  const wasRead = Promise.withResolvers<void>();
  const log = followAppLog(
    {
      async *logs(_name, { follow, signal }) {
        if (!follow) {
          yield bytes("one\ntwo\n");
          return wasRead.resolve();
        }
        yield bytes("one\n");
        await wasRead.promise;
        await pause(100);
        yield bytes("two\n");
        await once(signal, "abort");
      },
    },
    name,
    {
      show: (piece) => text += new TextDecoder().decode(piece),
      signal: new AbortController().signal,
      idleMs: 1,
    },
  );
  await log.caughtUp();
  await log.close();
  assert.equal(text, "one\ntwo\n");
});

test("caughtUp() gives up on a follower that never reaches the end", async () => {
  const lines: string[] = [];
  const log = followAppLog(
    {
      async *logs(_name, { follow, signal }) {
        if (!follow) return yield bytes("one\ntwo\n");
        yield bytes("one\n");
        await once(signal, "abort");
      },
    },
    name,
    {
      show: (piece) => void lines.push(new TextDecoder().decode(piece)),
      signal: new AbortController().signal,
      idleMs: 1,
      giveUpMs: 20,
    },
  );
  await log.caughtUp();
  await log.close();
  assert.deepEqual(lines, ["one\n"]);
});

test("close() rejects if the log could not be followed", async () => {
  const log = followAppLog(
    {
      // deno-lint-ignore require-yield
      async *logs(_name, { follow }) {
        if (follow) throw new Error("too many followers");
      },
    },
    name,
    { show: () => {}, signal: new AbortController().signal },
  );
  await log.caughtUp();
  await assert.rejects(log.close(), /too many followers/);
});
