import assert from "node:assert/strict";
import { test } from "node:test";
import { agentFlags, duration, readAgentSettings } from "../../src/cli/agent-config.ts";

const noFile = () => Promise.reject(Object.assign(new Error("no such file"), { code: "ENOENT" }));

test("a flag wins over the environment, that over the file, that over the default", async () => {
  const file = async () => "sync-period: 3s\nreport-period: 3s\nmax-apps: 7\n";
  const env = { NCKUBELET_SYNC_PERIOD: "2s", NCKUBELET_REPORT_PERIOD: "2s" };
  const settings = await readAgentSettings({ "sync-period": "1s", standalone: true }, env, file);
  assert.deepEqual([settings.syncPeriodMs, settings.reportPeriodMs, settings.maxApps, settings.enforce], [
    1000,
    2000,
    7,
    "strict",
  ]);
});

test("a config file that is named must be there; the usual one need not", async () => {
  await readAgentSettings({}, {}, noFile);
  await assert.rejects(
    readAgentSettings({ config: "/etc/none.yaml" }, {}, noFile),
    /--config \/etc\/none\.yaml: ENOENT/,
  );
});

test("a config file without a setting is as good as none", async () => {
  for (const text of ["", "\n", "# nothing yet\n", "---\n"]) {
    assert.equal((await readAgentSettings({}, {}, async () => text)).syncPeriodMs, 10_000);
  }
});

test("a setting that nobody knows is refused with the one that was meant", async () => {
  await assert.rejects(
    readAgentSettings({}, {}, async () => "sync-perod: 1s"),
    /unknown setting "sync-perod"; did you mean sync-period\?/,
  );
});

for (
  const [flags, message] of [
    [{ "sync-period": "soon" }, /--sync-period "soon"/],
    [{ "sync-period": "0s" }, /--sync-period "0s"/],
    [{ enforce: "maybe" }, /--enforce "maybe": use strict or best-effort/],
    [{ "max-apps": "-1" }, /--max-apps "-1"/],
    [{ "log-max-size": "much" }, /--log-max-size "much"/],
    [{ "log-max-files": "0" }, /--log-max-files "0"/],
    [{ "node-name": "../etc" }, /--node-name "\.\.\/etc"/],
    [{ "log-level": "loud" }, /--log-level "loud"/],
    [
      { standalone: true, server: "http://127.0.0.1:8001" },
      /--standalone means no API server: leave --server out/,
    ],
  ] as const
) {
  test(`${JSON.stringify(flags)} is refused with flag and value`, async () => {
    await assert.rejects(readAgentSettings(flags, {}, noFile), message);
  });
}

test("spans of time have a unit", () => {
  assert.deepEqual(["500ms", "10s", "1.5m", "2h"].map((text) => duration("x", text)), [
    500,
    10_000,
    90_000,
    7_200_000,
  ]);
});

test("an agent with state of its own gets cgroups of its own", async () => {
  const [one, two, usual] = await Promise.all(
    ["/srv/a", "/srv/b", undefined].map((folder) =>
      readAgentSettings(folder ? { "state-dir": folder } : {}, {}, noFile)
    ),
  );
  assert.notEqual(one?.instance, two?.instance);
  assert.equal(usual?.instance, undefined);
});

test("every flag of the agent has help", () => {
  for (const [name, { help }] of Object.entries(agentFlags)) assert.ok(help.endsWith("."), name);
});
