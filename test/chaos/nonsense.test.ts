import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { startAgentProcess } from "../agent-process.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { type Answer, json, list, startNonsenseServer } from "./nonsense-server.ts";

const status = (code: number, reason: string): Answer => (response) =>
  json(response, code, {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message: reason,
  });
const text = (body: string, type = "application/json"): Answer => (response) =>
  void response.writeHead(200, { "content-type": type }).end(body);

const answers: Record<string, Answer> = {
  "401": status(401, "Unauthorized"),
  "403": status(403, "Forbidden"),
  "404, as without the CRD": text("404 page not found", "text/plain"),
  "429 with Retry-After": (response) =>
    json(response, 429, { kind: "Status", code: 429 }, { "retry-after": "1" }),
  "500": status(500, "InternalError"),
  "503": status(503, "ServiceUnavailable"),
  "items: null": (response) => json(response, 200, { ...list([]), items: null }),
  "no items at all": (response) =>
    json(response, 200, { apiVersion: "app.example.com/v1alpha1", kind: "NCAppList" }),
  "JSON that is cut": text('{"apiVersion":"app.example.com/v1alpha1","kind":"NCAppList","items":['),
  "HTML": text("<!doctype html><title>Log in</title>", "text/html"),
  "an empty body": text(""),
  "a list of another resource": (response) =>
    json(response, 200, { ...list([]), kind: "PodList", apiVersion: "v1" }),
  "a connection that is cut": (response) => void response.destroy(),
};

test("whatever the API server answers, no app is stopped; only a valid empty list stops them", async () => {
  // Three agents share the answers: each takes a second or two to ask again.
  const lots = Map.groupBy(Object.entries(answers).entries(), ([index]) => index % 3);
  await Promise.all([...lots.values()].map((lot) => hearOut(lot.map(([, answer]) => answer))));
});

/** Gives these answers to an agent with three apps, and at last a valid empty list. */
async function hearOut(answers: [string, Answer][]): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  const shellFile = join(folder, "app.sh");
  await writeFile(shellFile, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
  let items = [1, 2, 3].map((n) => ({
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: {
      name: `app-${n}`,
      namespace: "default",
      uid: `uid-${n}`,
      resourceVersion: "1",
      generation: 1,
    },
    spec: { shellFile, nodeName: "node-a", terminationGracePeriodSeconds: 5 },
  }));
  await using server = await startNonsenseServer(() => items);
  await using agent = await startAgentProcess([
    "--server",
    server.url,
    "--node-name",
    "node-a",
    "--register-node",
    "never",
  ]);
  const pids = async () => {
    const { items } = await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] };
    return items.map(({ metadata, status }) =>
      `${metadata.name} ${status?.phase} ${status?.pid} ${status?.restarts}`
    );
  };
  const before = await waitFor("all run", async () => {
    const now = await pids();
    return now.length === 3 && now.every((line) => line.includes("Running")) ? now : undefined;
  });

  for (const [what, answer] of answers) {
    const seen = server.lists();
    server.answer(answer);
    await waitFor(`${what}: it was asked`, () => server.lists() > seen);
    await waitFor(`${what}: readyz says so`, async () => (await fetch(`${agent.url}/readyz`)).status === 503);
    assert.deepEqual(await pids(), before, what);
    server.answer(undefined);
    await waitFor(`${what}: it is followed again`, () => server.isWatched(), 60_000);
    assert.deepEqual(await pids(), before, `after ${what}`);
  }

  items = [];
  server.answer((response) => json(response, 200, list([])));
  await waitFor("a valid empty list stops all", async () => (await pids()).length === 0);
}
