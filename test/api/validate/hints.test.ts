import assert from "node:assert/strict";
import { test } from "node:test";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { appWith } from "../samples.ts";

const problemsOf = (spec: object) => validateNCApp(appWith(spec)).map(({ message }) => message);

test("variables as a map, or as NAME=VALUE, get the form to write, without their values", () => {
  assert.deepEqual(problemsOf({ env: { PASSWORD: "hunter2", B: 1 } }), [
    'spec.env: Invalid value: (not shown): must be a list, not an object: write [{name: PASSWORD, value: "..."}, ...]',
  ]);
  assert.deepEqual(problemsOf({ env: ["PASSWORD=hunter2"] }), [
    'spec.env[0]: Invalid value: (not shown): must be an object, not a string: write {name: PASSWORD, value: "..."}',
  ]);
  assert.match(problemsOf({ env: ["hunter2"] })[0] ?? "", /write {name: NAME, value: "..."}$/);
});

test("a probe without a mechanism, or with two, is shown without the defaults", () => {
  assert.deepEqual(problemsOf({ readinessProbe: { periodSeconds: 5 } }), [
    "spec.readinessProbe: Required value: must have exactly one of exec, httpGet, tcpSocket",
  ]);
  assert.deepEqual(problemsOf({ livenessProbe: { exec: { command: ["true"] }, tcpSocket: { port: 1 } } }), [
    'spec.livenessProbe: Invalid value: "exec and tcpSocket": must have exactly one of exec, httpGet, tcpSocket',
  ]);
});

test("a value of another form gets the form to write", () => {
  for (
    const [spec, message] of [
      [{ env: [{ A: "hunter2" }] }, 'spec.env[0]: Invalid value: (not shown): write {name: A, value: "..."}'],
      [
        { reloadCommand: "nginx -s reload" },
        'spec.reloadCommand: Invalid value: "nginx -s reload": must be a list, not a string: write ["nginx", "-s", "reload"]',
      ],
      [
        { readinessProbe: { exec: ["true"] } },
        'spec.readinessProbe.exec: Invalid value: ["true"]: must be an object, not a list: write {command: [WORD, ...]}',
      ],
      [
        { readinessProbe: { tcpSocket: { port: 1 }, period: 5 } },
        "spec.readinessProbe.period: Unknown field: use periodSeconds",
      ],
      [
        { ports: [80] },
        "spec.ports[0]: Invalid value: 80: must be an object, not a number: write {port: 80}",
      ],
      [
        { ports: { http: 80 } },
        'spec.ports: Invalid value: {"http":80}: must be a list, not an object: write [{name: http, port: ...}, ...]',
      ],
      [
        { stopSignal: 15 },
        "spec.stopSignal: Invalid value: 15: must be a string, not a number: use a name such as SIGHUP",
      ],
      [{ stopSignal: "quit" }, 'spec.stopSignal: Unsupported value: "quit": did you mean "SIGQUIT"?'],
      [
        { terminationGracePeriodSeconds: "30" },
        'spec.terminationGracePeriodSeconds: Invalid value: "30": must be an integer, not a string: remove the quotes',
      ],
      [
        { suspend: "true" },
        'spec.suspend: Invalid value: "true": must be true or false, not a string: remove the quotes',
      ],
      [
        { envFrom: [] },
        "spec.envFrom: Unknown field: use env with valueFrom for each key, or envFile for a file on the node",
      ],
      [{ execReload: "x" }, "spec.execReload: Unknown field: use reloadSignal or reloadCommand"],
    ] as const
  ) assert.deepEqual(problemsOf(spec), [message]);
});
