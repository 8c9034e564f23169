import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agentFlags,
  defaultSocket,
  duration,
  findSocket,
  readAgentSettings,
} from "../../src/cli/agent-config.ts";

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

test("commands find the agent by flag, environment, or its own config file, whatever else is wrong with that", async () => {
  const file = async () => "socket: /run/other.sock\n";
  assert.equal(await findSocket({ socket: "/a" }, { NCKUBELET_SOCKET: "/b" }, file), "/a");
  assert.equal(await findSocket({}, { NCKUBELET_SOCKET: "/b" }, file), "/b");
  assert.equal(await findSocket({}, {}, file), "/run/other.sock");
  for (const text of ["", "socket: 7\n", "unknown: 1\n", "{"]) {
    assert.equal(await findSocket({}, {}, async () => text), defaultSocket, text);
  }
  assert.equal(await findSocket({}, {}, noFile), defaultSocket);
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
    [
      { standalone: true, "with-scheduler": true },
      /--with-scheduler needs an API server: leave --standalone out/,
    ],
    [{ "with-scheduler": "perhaps" }, /--with-scheduler "perhaps": use true or false/],
  ] as const
) {
  test(`${JSON.stringify(flags)} is refused with flag and value`, async () => {
    await assert.rejects(readAgentSettings(flags, {}, noFile), message);
  });
}

test("an agent has a scheduler only where a flag, the environment or the file says so", async () => {
  const of = async (flags: object, env: object, text = "") =>
    (await readAgentSettings({ ...flags }, { ...env }, async () => text)).withScheduler;
  assert.equal(await of({}, {}), false);
  assert.equal(await of({ "with-scheduler": true }, {}), true);
  assert.equal(await of({}, { NCKUBELET_WITH_SCHEDULER: "true" }), true);
  assert.equal(await of({}, {}, "with-scheduler: true\n"), true);
});

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
