import assert from "node:assert/strict";
import { test } from "node:test";
import { describeApp } from "../../../src/cli/screen/screen.ts";
import type { NodeApp } from "../../../src/cli/agent-api/agent-api.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const web: NodeApp = {
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: { name: "web", namespace: "shop", labels: { tier: "front" } },
  spec: {
    shellFile: "/srv/web.sh",
    args: ["--name", "two words"],
    env: [{ name: "TOKEN" }],
    cpuPCT: "20",
    restartPolicy: "Always",
    livenessProbe: { httpGet: { port: 8080, path: "/health" }, periodSeconds: 5 },
  },
  status: {
    phase: "BackOff",
    reason: "OOMKilled",
    message: "Ended with status 137 (SIGKILL): OOMKilled; restarting at 2026-01-01T00:10:10Z",
    restarts: 3,
    oomKills: 2,
    lastExit: {
      code: 137,
      signal: "SIGKILL",
      reason: "OOMKilled",
      finishedAt: "2026-01-01T00:09:00Z",
      message: "first line\nsecond \x1b[31mline",
    },
    conditions: [{
      type: "Ready",
      status: "False",
      reason: "OOMKilled",
      lastTransitionTime: "2026-01-01T00:09:00Z",
    }],
  },
  agent: { source: "socket", logFile: "/var/log/nckubelet/shop_web/app.log" },
};

test("describeApp() shows everything about an app that was killed", () => {
  assert.deepEqual(describeApp(web, now), [
    "Name:        web",
    "Namespace:   shop",
    "Source:      socket",
    "Labels:      tier=front",
    "Phase:       BackOff",
    "Reason:      OOMKilled",
    "Message:     Ended with status 137 (SIGKILL): OOMKilled; restarting in 10 s",
    "Log file:    /var/log/nckubelet/shop_web/app.log",
    "Program:",
    "  Script:        /srv/web.sh",
    '  Arguments:     --name "two words"',
    "  Environment:   TOKEN",
    "Limits:",
    "  CPU:             20% of all CPUs of the node",
    "  Memory:          no cap",
    "  Out of memory:   kill all processes",
    "Lifecycle:",
    "  Restart:    Always",
    "  Grace:      30s",
    "  Liveness:   GET http://127.0.0.1:8080/health every 5s, timeout 1s, fails after 3",
    "State:",
    "  Ready:       False",
    "  Restarts:    3",
    "  OOM kills:   2",
    "Last exit:",
    "  Code:       137 (SIGKILL)",
    "  Reason:     OOMKilled",
    "  Finished:   2026-01-01T00:09:00Z (60s ago)",
    "  Message:",
    "    first line",
    "    second \ufffd[31mline",
    "Conditions:",
    "  TYPE    STATUS   REASON      SINCE   MESSAGE",
    "  Ready   False    OOMKilled   60s",
  ]);
});

test("describeApp() hides secrets of an NCApp from the API server, and control characters", () => {
  const manifest = JSON.stringify({ spec: { env: [{ name: "TOKEN", value: "opensesame" }] } });
  const lines = describeApp({
    ...web,
    metadata: {
      name: "web",
      annotations: {
        "kubectl.kubernetes.io/last-applied-configuration": manifest,
        team: "night\nPhase: Running",
      },
    },
    spec: { shellFile: "https://me:opensesame@example.com/web.sh?signature=opensesame" },
    status: {
      phase: "Failed",
      message: "was \x1b[2Jhere",
      conditions: [{ type: "Ready", status: "False", reason: "\x9b2J", message: "\x1b]0;title\x07" }],
    },
  }, now);
  const text = lines.join("\n");
  assert.ok(!text.includes("opensesame"), text);
  assert.deepEqual(lines.filter((line) => /^ *(Annotations|Phase|Message|Script): /.test(line)), [
    "Annotations:   team=night Phase: Running",
    "Phase:         Failed",
    "Message:       was \ufffd[2Jhere",
    "  Script:   https://***@example.com/web.sh?***",
  ]);
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
});

test("describeApp() colors only the phase", () => {
  const colored = describeApp(web, now, (color, text) => `<${color}>${text}</>`);
  assert.deepEqual(colored.filter((line) => line.includes("<")), ["Phase:       <red>BackOff</>"]);
});

test("describeApp() shows a stop signal that is not the usual one, and what went wrong with a stop file", () => {
  const problem = 'spec.stopFile: "/srv/stop.sh" ended with status 3';
  const stopped = { ...web.status, lastExit: { reason: "Stopped", message: problem } };
  const shown = (spec: NodeApp["spec"]) =>
    describeApp({ ...web, spec, status: stopped }, now).filter((line) => /stop/i.test(line.slice(0, 50)));
  assert.deepEqual(shown({ stopSignal: "SIGTERM", stopTarget: "All" }), [
    "  Reason:   Stopped",
    `    ${problem}`,
  ]);
  assert.deepEqual(shown({ stopSignal: "SIGQUIT" })[0], "  Stop signal:   SIGQUIT");
  assert.deepEqual(shown({ stopTarget: "Main" })[0], "  Stop signal:   SIGTERM, to the main process");
});
