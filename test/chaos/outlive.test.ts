import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const writers = 40;
const enders = 10;
const kills = 20;

/** Writes a number every 50 ms forever. */
const writer = "#!/bin/sh\nn=0\nwhile :; do n=$((n + 1)); echo $n; sleep 0.05; done\n";
/** Exits with the status in its first argument once its file exists. */
const ender = '#!/bin/sh\nwhile [ ! -e "$2" ]; do sleep 0.05; done\nexit "$1"\n';

test(`${writers + enders} apps and ${kills} x kill -9 of the agent: no restart, no lost exit status, no lost line, no second instance`, async () => {
  using temp = tempFolder();
  const folder = temp.path;
  await writeFile(join(folder, "writer.sh"), writer, { mode: 0o755 });
  await writeFile(join(folder, "ender.sh"), ender, { mode: 0o755 });
  const items = [
    ...range(writers).map((n) => manifest(`writer-${n}`, { shellFile: join(folder, "writer.sh") })),
    ...range(enders).map((n) =>
      manifest(`ender-${n}`, {
        shellFile: join(folder, "ender.sh"),
        args: [String(10 + n), join(folder, `go-${n}`)],
        restartPolicy: "Never",
      })
    ),
  ];
  await writeFile(join(folder, "apps.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));

  await using agent = await startAgentProcess(["--standalone", "--manifests", folder]);
  const apps = async () => (await (await fetch(`${agent.url}/apps`)).json() as { items: NCApp[] }).items;
  const before = await waitFor("all run", async () => {
    const list = await apps();
    return list.length === items.length && list.every(({ status }) => status?.phase === "Running")
      ? list
      : undefined;
  });

  for (let round = 0; round < kills; round++) {
    await agent.kill("SIGKILL");
    if (round < enders) await writeFile(join(folder, `go-${round}`), "");
    await agent.start();
  }

  const ended = await waitFor("all enders have ended", async () => {
    const list = (await apps()).filter(({ metadata }) => metadata.name.startsWith("ender-"));
    return list.every(({ status }) => status?.phase === "Failed") ? list : undefined;
  });
  for (const { metadata, status } of ended) {
    assert.equal(status?.lastExit?.code, 10 + Number(metadata.name.slice("ender-".length)), metadata.name);
  }
  for (const { metadata, status } of await apps()) {
    if (!metadata.name.startsWith("writer-")) continue;
    const first = before.find((known) => known.metadata.name === metadata.name);
    assert.deepEqual(
      [status?.phase, status?.pid, status?.restarts],
      ["Running", first?.status?.pid, 0],
      metadata.name,
    );
    const lines = (await readFile(join(agent.folder, "log", `default_${metadata.name}`, "app.log"), "utf8"))
      .trimEnd().split("\n");
    assert.deepEqual(lines, range(lines.length).map((n) => String(n + 1)), metadata.name);
  }
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
