import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { defaultPaths, findSocket, readAgentSettings } from "../../../src/cli/config/config.ts";

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

test("commands find the agent by flag, environment or its config file, even if that file has other mistakes", async () => {
  const file = async () => "socket: /run/other.sock\n";
  assert.equal(await findSocket({ socket: "/a" }, { NCKUBELET_SOCKET: "/b" }, file), "/a");
  assert.equal(await findSocket({}, { NCKUBELET_SOCKET: "/b" }, file), "/b");
  assert.equal(await findSocket({}, {}, file), "/run/other.sock");
  for (const text of ["", "socket: 7\n", "unknown: 1\n", "{"]) {
    assert.equal(await findSocket({}, {}, async () => text), defaultPaths.socket, text);
  }
  assert.equal(await findSocket({}, {}, noFile), defaultPaths.socket);
  assert.equal(await findSocket({ socket: "" }, {}, noFile), defaultPaths.socket);
});

test("relative paths start at the working directory, those in the config file at its folder", async () => {
  const names = {
    kubeconfig: "kubeconfig",
    manifests: "manifests",
    "tls-cert-file": "tlsCertFile",
    "tls-private-key-file": "tlsKeyFile",
    "token-file": "tokenFile",
    "client-ca-file": "clientCAFile",
    socket: "socket",
    "state-dir": "stateDir",
    "log-dir": "logDir",
    "cgroup-root": "cgroupRoot",
  } as const;
  const config = { config: "/etc/edge/agent.yaml" };
  for (const [flag, name] of Object.entries(names)) {
    const variable = { [`NCKUBELET_${flag.toUpperCase().replaceAll("-", "_")}`]: "./in/variable/" };
    const file = async () => `${flag}: ../in-file\n`;
    const of = async (flags: object, env: object) =>
      (await readAgentSettings({ ...config, ...flags }, { ...env }, file))[name];
    assert.equal(await of({ [flag]: "in-flag" }, variable), resolve("in-flag"), flag);
    assert.equal(await of({}, variable), resolve("in/variable"), flag);
    assert.equal(await of({}, {}), "/etc/in-file", flag);
    assert.equal(await of({ [flag]: "/srv/x" }, variable), "/srv/x", flag);
  }
  const list = async () => "kubeconfig: user:/etc/cluster\n";
  assert.equal((await readAgentSettings(config, {}, list)).kubeconfig, "/etc/edge/user:/etc/cluster");
  const file = async () => "socket: run/a.sock\n";
  assert.equal(await findSocket({ ...config, socket: "a.sock" }, {}, file), resolve("a.sock"));
  assert.equal(await findSocket(config, { NCKUBELET_SOCKET: "b.sock" }, file), resolve("b.sock"));
  assert.equal(await findSocket(config, {}, file), "/etc/edge/run/a.sock");
  assert.equal(await findSocket({ config: "edge.yaml" }, {}, file), resolve("run/a.sock"));
});

test("an empty socket means none, and a setting without a value is not set", async () => {
  const file = async () => "socket: ''\nmanifests:\nnamespace: null\nstate-dir:\n";
  const { socket, manifests, namespace, instance } = await readAgentSettings({}, {}, file);
  assert.deepEqual([socket, manifests, namespace, instance], ["", undefined, undefined, undefined]);
});

for (
  const [name, flags, env, text, expected] of [
    ["--standalone over kubeconfig:", { standalone: true }, {}, "kubeconfig: /f", { standalone: true }],
    ["--standalone over server:", { standalone: true }, {}, "server: http://s", { standalone: true }],
    ["--standalone over with-scheduler:", { standalone: true }, {}, "with-scheduler: true", {
      standalone: true,
    }],
    ["--kubeconfig over standalone:", { kubeconfig: "/f" }, {}, "standalone: true", { kubeconfig: "/f" }],
    ["--server over standalone:", { server: "http://s" }, {}, "standalone: true", { server: "http://s" }],
    ["--with-scheduler over standalone:", { "with-scheduler": true }, {}, "standalone: true", {
      controllers: "scheduler",
    }],
    ["--standalone over with-controller:", { standalone: true }, {}, "with-controller: true", {
      standalone: true,
    }],
    ["--with-controller over standalone:", { "with-controller": true }, {}, "standalone: true", {
      controllers: "all",
    }],
    ["--standalone=false over standalone:", { standalone: false }, {}, "standalone: true", {}],
    ["--standalone=false beside kubeconfig:", { standalone: false }, {}, "kubeconfig: /f", {
      kubeconfig: "/f",
    }],
    ["an empty --kubeconfig over standalone:", { kubeconfig: "" }, {}, "standalone: true", {
      standalone: true,
    }],
    ["--kubeconfig over server:", { kubeconfig: "/f" }, {}, "server: http://s", { kubeconfig: "/f" }],
    ["--server at the credentials of kubeconfig:", { server: "http://s" }, {}, "kubeconfig: /f", {
      kubeconfig: "/f",
      server: "http://s",
    }],
    ["NCKUBELET_STANDALONE over kubeconfig:", {}, { NCKUBELET_STANDALONE: "true" }, "kubeconfig: /f", {
      standalone: true,
    }],
    ["--kubeconfig over NCKUBELET_STANDALONE", { kubeconfig: "/f" }, { NCKUBELET_STANDALONE: "true" }, "", {
      kubeconfig: "/f",
    }],
    [
      "--server over NCKUBELET_STANDALONE over kubeconfig:",
      { server: "http://s" },
      { NCKUBELET_STANDALONE: "true" },
      "kubeconfig: /f",
      { server: "http://s" },
    ],
  ] as const
) {
  test(`the higher level wins between settings that exclude each other: ${name}`, async () => {
    const { standalone, kubeconfig, server, controllers } = await readAgentSettings(
      flags,
      { ...env },
      async () => text,
    );
    assert.deepEqual({ standalone, kubeconfig, server, controllers }, {
      standalone: false,
      kubeconfig: undefined,
      server: undefined,
      controllers: undefined,
      ...expected,
    });
  });
}

test("settings that exclude each other at one level are refused", async () => {
  const both = { NCKUBELET_STANDALONE: "true", NCKUBELET_KUBECONFIG: "/f" };
  const refusal = /--standalone means no API server: remove --kubeconfig/;
  await assert.rejects(readAgentSettings({}, both, noFile), refusal);
  await assert.rejects(readAgentSettings({}, {}, async () => "standalone: true\nkubeconfig: /f"), refusal);
});

test("a config file that is named must exist; the default one need not", async () => {
  await readAgentSettings({}, {}, noFile);
  await assert.rejects(
    readAgentSettings({ config: "/etc/none.yaml" }, {}, noFile),
    /--config \/etc\/none\.yaml: no such file$/,
  );
});

test("a config file that is not YAML is refused with the line, in words", async () => {
  await assert.rejects(
    readAgentSettings({ config: "c.yaml" }, {}, async () => "sync-period: 5s\nlisten: [\n"),
    /^UsageError: c\.yaml:3: not YAML: a bracket is not closed, or a line is not indented enough$/,
  );
});

test("a config file without settings changes nothing", async () => {
  for (const text of ["", "\n", "# nothing yet\n", "---\n"]) {
    assert.equal((await readAgentSettings({}, {}, async () => text)).syncPeriodMs, 10_000);
  }
});

test("an unknown setting is refused with a suggestion", async () => {
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
    [{ "node-name": "nckubelet-a" }, /--node-name "nckubelet-a": must not begin with nckubelet-/],
    [{ "state-dir": "" }, /--state-dir "": use the path of a folder/],
    [{ "log-dir": "" }, /--log-dir "": use the path of a folder/],
    [{ "log-level": "loud" }, /--log-level "loud"/],
    [
      { standalone: true, server: "http://127.0.0.1:8001" },
      /--standalone means no API server: remove --server/,
    ],
    [
      { standalone: true, "with-scheduler": true },
      /--with-scheduler needs an API server: remove --standalone/,
    ],
    [
      { standalone: true, "with-controller": true },
      /--with-controller needs an API server: remove --standalone/,
    ],
    [{ "with-scheduler": "perhaps" }, /--with-scheduler "perhaps": use true or false/],
  ] as const
) {
  test(`${JSON.stringify(flags)} is refused with flag and value`, async () => {
    await assert.rejects(readAgentSettings(flags, {}, noFile), message);
  });
}

test("an agent runs controllers only if a flag, the environment or the file says so", async () => {
  const of = async (flags: object, env: object, text = "") =>
    (await readAgentSettings({ ...flags }, { ...env }, async () => text)).controllers;
  assert.equal(await of({}, {}), undefined);
  assert.equal(await of({ "with-controller": true }, {}), "all");
  assert.equal(await of({}, { NCKUBELET_WITH_CONTROLLER: "true" }), "all");
  assert.equal(await of({}, {}, "with-controller: true\n"), "all");
  // The old name means what it meant.
  assert.equal(await of({ "with-scheduler": true }, {}), "scheduler");
  assert.equal(await of({}, { NCKUBELET_WITH_SCHEDULER: "true" }), "scheduler");
  assert.equal(await of({}, {}, "with-scheduler: true\n"), "scheduler");
  assert.equal(await of({ "with-controller": true }, {}, "with-scheduler: true\n"), "all");
});

test("an agent with its own state folder gets its own cgroups", async () => {
  const [one, two, usual] = await Promise.all(
    ["/srv/a", "/srv/b", undefined].map((folder) =>
      readAgentSettings(folder ? { "state-dir": folder } : {}, {}, noFile)
    ),
  );
  assert.notEqual(one?.instance, two?.instance);
  assert.equal(usual?.instance, undefined);
  const respelled = await readAgentSettings({ "state-dir": `${usual?.stateDir}/./` }, {}, noFile);
  assert.deepEqual([respelled.stateDir, respelled.instance], [usual?.stateDir, undefined]);
  const other = await readAgentSettings({ "state-dir": "/srv/x/../a/" }, {}, noFile);
  assert.equal(other.instance, one?.instance);
});

test("the kubelet API is not served on loopback, which the API server cannot reach", async () => {
  for (const address of ["127.0.0.1:10250", "localhost:10250", "[::1]:10250"]) {
    await assert.rejects(
      readAgentSettings({ "kubelet-listen": address }, {}, async () => ""),
      /--kubelet-listen .*: kubectl logs and exec reach it through the API server, which cannot connect to loopback; use :10250/,
    );
  }
});
