import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { startAgentProcess } from "../../agent-process.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

test("SIGHUP reloads the agent, names what needs a restart, and ends nothing", async () => {
  using temp = tempFolder();
  const config = join(temp.path, "config.yaml");
  const manifests = join(temp.path, "manifests");
  await writeFile(config, "log-level: info\n");
  await using agent = await startAgentProcess([
    "--standalone",
    "--config",
    config,
    "--manifests",
    manifests,
  ]);
  const hangUp = async (what: string, seen: RegExp) => {
    const from = agent.log().length;
    process.kill(agent.pid(), "SIGHUP");
    await waitFor(what, () => seen.test(agent.log().slice(from)));
    return agent.log().slice(from);
  };

  await hangUp("a reload without changes", /reloaded: .* settings=unchanged/);
  // A folder that does not exist is not watched: only the reload, or the next period, finds it.
  await mkdir(manifests);
  await writeFile(
    join(manifests, "web.yaml"),
    "apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: web}\nspec: {shellFile: ''}\n",
  );
  await writeFile(config, "log-level: debug\nmax-apps: 7\nsync-period: 3s\n");
  const log = await hangUp("the restart that is needed", /need a restart of the agent/);
  assert.match(log, /reloaded: manifests and certificates are read again settings=log-level/);
  assert.match(log, /need a restart of the agent settings="sync-period, max-apps"/);
  await waitFor(
    "the new manifest is read",
    async () => /\bweb\b/.test((await agent.command("ps", "--socket", agent.socket)).stdout),
  );

  await writeFile(config, "log-level: loud\n");
  assert.match(
    await hangUp("the mistake", /cannot reload the settings/),
    /those before stay in force error="--log-level \\"loud\\": use/,
  );
  await writeFile(config, "log-level: error\nmax-apps: 7\nsync-period: 3s\n");
  process.kill(agent.pid(), "SIGHUP");
  assert.equal((await agent.command("ps", "--socket", agent.socket)).code, 0);
});
