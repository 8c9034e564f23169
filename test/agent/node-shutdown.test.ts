import assert from "node:assert/strict";
import { test } from "node:test";
import { allowStopTime, isShuttingDown } from "../../src/agent/node-shutdown.ts";
import { createLogger } from "../../src/lib/log.ts";

const silent = createLogger({ level: "error", format: "text", write: () => {} });

/** A machine with these files, on which programs print this. */
function machine(files: Record<string, string>, programs: Record<string, string>) {
  return {
    exists: (path: string) => Object.keys(files).some((file) => file === path || file.startsWith(`${path}/`)),
    read: (path: string) => Promise.resolve(files[path]),
    run: (file: string, args: string[]) => {
      const output = programs[[file, ...args].join(" ")];
      return output === undefined ? Promise.reject(new Error(`${file}: ENOENT`)) : Promise.resolve(output);
    },
  };
}

const systemd = (state: string) =>
  machine({ "/run/systemd/system": "" }, { "systemctl is-system-running": `${state}\n` });
const openrc = (level: string, runlevel?: string) =>
  machine({ "/run/openrc/softlevel": level }, runlevel ? { runlevel: `${runlevel}\n` } : {});

for (
  const [what, parts, expected] of [
    ["systemd that runs", systemd("running"), false],
    ["systemd with a failed unit", systemd("degraded"), false],
    ["systemd that boots", systemd("starting"), false],
    ["systemd with a queued shutdown", systemd("stopping"), true],
    ["systemd that does not answer", machine({ "/run/systemd/system": "" }, {}), false],
    ["OpenRC that runs", openrc("default", "N 2"), false],
    ["OpenRC without sysvinit that runs", openrc("default"), false],
    ["OpenRC without sysvinit that shuts down", openrc("shutdown"), true],
    ["OpenRC without sysvinit that reboots", openrc("reboot"), true],
    ["OpenRC below sysvinit that halts", openrc("default", "2 0"), true],
    ["OpenRC below sysvinit that reboots", openrc("default", "2 6"), true],
    ["another service manager", machine({}, {}), false],
  ] as const
) {
  test(`a machine with ${what} ${expected ? "is" : "is not"} shutting down`, async () => {
    assert.equal(await isShuttingDown(silent, parts), expected);
  });
}

test("systemd is asked for more time than the apps need, and only if it listens", async () => {
  const calls: string[][] = [];
  const run = (file: string, args: string[], env?: Record<string, string>) => {
    calls.push([file, ...args, env?.NOTIFY_SOCKET ?? ""]);
    return Promise.resolve("");
  };
  await allowStopTime(300_000, { env: {}, log: silent }, { run });
  await allowStopTime(300_000, { env: { NOTIFY_SOCKET: "/run/notify" }, log: silent }, { run });
  assert.deepEqual(calls, [["systemd-notify", "EXTEND_TIMEOUT_USEC=310000000", "/run/notify"]]);
});
