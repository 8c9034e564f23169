/** What users of Pods, docker, systemd and cron write into manifests by mistake, and the one message that each of it gets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, parseManifests } from "../../../src/api/manifest/manifest.ts";

/** A line of a spec, and what is said about it. */
const lines: readonly [line: string, message: string][] = [
  [
    "shellFile: start.sh",
    'spec.shellFile: Invalid value: "start.sh": must be an absolute path, or an https:// or http:// URL',
  ],
  [
    "shellFile: ~/start.sh",
    'spec.shellFile: Invalid value: "~/start.sh": must be an absolute path, or an https:// or http:// URL',
  ],
  [
    "shellFile: $HOME/start.sh",
    'spec.shellFile: Invalid value: "$HOME/start.sh": must be an absolute path, or an https:// or http:// URL',
  ],
  ["shellFile: [/opt/a.sh]", 'spec.shellFile: Invalid value: ["/opt/a.sh"]: must be a string, not a list'],
  ["shellFile: 7", "spec.shellFile: Invalid value: 7: must be a string, not a number: quote it"],
  [
    "shellFile: file:///opt/a.sh",
    'spec.shellFile: Invalid value: "file:///opt/a.sh": the scheme "file" is not supported: use https or http',
  ],
  [
    "shellFile: ftp://example.com/a.sh",
    'spec.shellFile: Invalid value: "ftp://example.com/a.sh": the scheme "ftp" is not supported: use https or http',
  ],
  ["shellfile: /opt/a.sh", 'spec.shellfile: Unknown field: did you mean "shellFile"?'],
  ["shell_file: /opt/a.sh", 'spec.shell_file: Unknown field: did you mean "shellFile"?'],
  ["ShellFile: /opt/a.sh", 'spec.ShellFile: Unknown field: did you mean "shellFile"?'],
  ["path: /opt/a.sh", "spec.path: Unknown field: use shellFile"],
  ["exec: /opt/a.sh", "spec.exec: Unknown field: use shellFile for the script and args for its arguments"],
  [
    "ExecStart: /opt/a.sh",
    "spec.ExecStart: Unknown field: use shellFile for the script and args for its arguments",
  ],
  ["ExecStartPre: /opt/a.sh", "spec.ExecStartPre: Unknown field: do it in the script of shellFile"],
  ["execStop: /opt/a.sh", "spec.execStop: Unknown field: use stopFile or stopSignal"],
  [
    "program: /opt/a.sh",
    "spec.program: Unknown field: use shellFile for the script and args for its arguments",
  ],
  ["run: /opt/a.sh", "spec.run: Unknown field: use shellFile for the script and args for its arguments"],
  ["cmd: [a]", "spec.cmd: Unknown field: use shellFile for the script and args for its arguments"],
  ["command: [a]", "spec.command: Unknown field: use shellFile for the script and args for its arguments"],
  [
    "entrypoint: a",
    "spec.entrypoint: Unknown field: use shellFile for the script and args for its arguments",
  ],
  ["image: nginx", "spec.image: Unknown field: an NCApp is no container: name its script with shellFile"],
  ["containers: []", "spec.containers: Unknown field: an NCApp is no Pod: name its script with shellFile"],
  [
    "volumes: []",
    "spec.volumes: Unknown field: an NCApp is no container: it uses the files and ports of the node",
  ],
  [
    "volumeMounts: []",
    "spec.volumeMounts: Unknown field: an NCApp is no container: it uses the files and ports of the node",
  ],
  [
    "networkMode: host",
    "spec.networkMode: Unknown field: an NCApp is no container: it uses the files and ports of the node",
  ],
  [
    "hostname: a",
    "spec.hostname: Unknown field: an NCApp is no container: it uses the files and ports of the node",
  ],
  ["expose: [80]", "spec.expose: Unknown field: use ports, such as [{port: 80}]"],
  [
    "depends_on: [db]",
    "spec.depends_on: Unknown field: apps start in no order: let the script wait for what it needs",
  ],
  [
    "Requires: db",
    "spec.Requires: Unknown field: apps start in no order: let the script wait for what it needs",
  ],
  [
    "WantedBy: multi-user.target",
    "spec.WantedBy: Unknown field: not needed: an app runs as long as its manifest exists",
  ],
  ["container_name: web", "spec.container_name: Unknown field: use metadata.name"],
  ["build: .", "spec.build: Unknown field: an NCApp is no container: name its script with shellFile"],
  ["privileged: true", "spec.privileged: Unknown field: an NCApp has no sandbox: runAsUser chooses its user"],
  ["securityContext: {runAsUser: 1000}", "spec.securityContext: Unknown field: use runAsUser and runAsGroup"],
  [
    "cap_add: [NET_ADMIN]",
    "spec.cap_add: Unknown field: an NCApp has no sandbox: runAsUser chooses its user",
  ],
  ["labels: {a: b}", "spec.labels: Unknown field: write it in metadata"],
  [
    "logging: {driver: json-file}",
    "spec.logging: Unknown field: its output goes to its log: 'nckubelet logs APP' prints it",
  ],
  ["ulimits: {nofile: 10}", "spec.ulimits: Unknown field: set them in the script, with ulimit"],
  ["LimitNOFILE: 1024", "spec.LimitNOFILE: Unknown field: set it in the script, with ulimit -n"],
  ["MemoryMax: 1G", "spec.MemoryMax: Unknown field: use memPCT, in percent of the node"],
  ["CPUQuota: 20%", "spec.CPUQuota: Unknown field: use cpuPCT, in percent of the node"],
  ["mem_limit: 1g", "spec.mem_limit: Unknown field: use memPCT, in percent of the node"],
  ["cpus: 2", "spec.cpus: Unknown field: use cpuPCT, in percent of the node"],
  ["Restart: always", "spec.Restart: Unknown field: use restartPolicy"],
  ["RestartSec: 5", "spec.RestartSec: Unknown field: use backoffSeconds"],
  ["TimeoutStopSec: 5", "spec.TimeoutStopSec: Unknown field: use terminationGracePeriodSeconds"],
  ["KillSignal: SIGQUIT", "spec.KillSignal: Unknown field: use stopSignal"],
  ["KillMode: mixed", "spec.KillMode: Unknown field: use stopTarget, All or Main"],
  ["User: www-data", "spec.User: Unknown field: use runAsUser"],
  ["Group: www-data", "spec.Group: Unknown field: use runAsGroup"],
  ["WorkingDirectory: /srv", "spec.WorkingDirectory: Unknown field: use workingDir"],
  ["EnvironmentFile: /etc/default/web", "spec.EnvironmentFile: Unknown field: use envFile"],
  ["Environment: [A=b]", "spec.Environment: Unknown field: use env"],
  ["OnCalendar: daily", 'spec.OnCalendar: Unknown field: use schedule, such as "30 2 * * *"'],
  [
    "Type: forking",
    "spec.Type: Unknown field: not needed: a daemon that its script leaves behind is the app",
  ],
  [
    "PIDFile: /run/a.pid",
    "spec.PIDFile: Unknown field: not needed: a daemon that its script leaves behind is the app",
  ],
  ["Nice: 5", "spec.Nice: Unknown field: start the program by nice in the script"],
  [
    "args: --port 80",
    'spec.args: Invalid value: "--port 80": must be a list, not a string: write ["--port", "80"]',
  ],
  ["args: [80]", "spec.args[0]: Invalid value: 80: must be a string, not a number: quote it"],
  ["args: {a: b}", 'spec.args: Invalid value: {"a":"b"}: must be a list, not an object: write [WORD, ...]'],
  [
    "env: [A=b]",
    'spec.env[0]: Invalid value: (not shown): must be an object, not a string: write {name: A, value: "..."}',
  ],
  [
    "env: {A: b}",
    'spec.env: Invalid value: (not shown): must be a list, not an object: write [{name: A, value: "..."}, ...]',
  ],
  [
    "env: A=b",
    'spec.env: Invalid value: (not shown): must be a list, not a string: write [{name: A, value: "..."}, ...]',
  ],
  [
    'env: [{name: "A B", value: x}]',
    'spec.env[0].name: Invalid value: "A B": must be letters, digits and underscores, not starting with a digit: sh drops other names',
  ],
  [
    "env: [{name: A, value: 1}]",
    "spec.env[0].value: Invalid value: (not shown): must be a string, not a number: quote it",
  ],
  [
    "env: [{name: A, value: true}]",
    "spec.env[0].value: Invalid value: (not shown): must be a string, not a boolean: quote it",
  ],
  ["env: [{name: A}, {name: A}]", 'spec.env[1]: Duplicate value: {"name":"A"}: name must be unique'],
  ["env: [{value: x}]", "spec.env[0].name: Required value"],
  [
    "env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
    'spec.env[0].valueFrom: Invalid value: {"secretKeyRef":{"name":"a","key":"b"}}: must not be set together with value',
  ],
  [
    "env: [{name: A, valueFrom: {secretRef: {name: a}}}]",
    'spec.env[0].valueFrom.secretRef: Unknown field: did you mean "secretKeyRef"?',
  ],
  [
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]",
    "spec.env[0].valueFrom.secretKeyRef.key: Required value",
  ],
  [
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]",
    "spec.env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"status.podIP\": must be metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, spec.cpuPCT or spec.memPCT",
  ],
  [
    "envFile: .env",
    'spec.envFile: Invalid value: ".env": must be an absolute path, with a leading "-" if the file may be missing',
  ],
  ["envFile: [/etc/a]", 'spec.envFile: Invalid value: ["/etc/a"]: must be a string, not a list'],
  [
    'cpuPCT: "120"',
    'spec.cpuPCT: Invalid value: "120": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    'cpuPCT: "0"',
    'spec.cpuPCT: Invalid value: "0": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "cpuPCT: 500m",
    'spec.cpuPCT: Invalid value: "500m": is an amount, but caps are shares of the node: use a percentage such as "20" or "12.5%"',
  ],
  [
    'cpuPCT: "-5"',
    'spec.cpuPCT: Invalid value: "-5": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "cpuPCT: 20 percent",
    'spec.cpuPCT: Invalid value: "20 percent": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "cpuPCT: twenty",
    'spec.cpuPCT: Invalid value: "twenty": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "memPCT: 256Mi",
    'spec.memPCT: Invalid value: "256Mi": is an amount, but caps are shares of the node: use a percentage such as "20" or "12.5%"',
  ],
  [
    "memPCT: 1G",
    'spec.memPCT: Invalid value: "1G": is an amount, but caps are shares of the node: use a percentage such as "20" or "12.5%"',
  ],
  ["memPCT: 101", "spec.memPCT: Invalid value: 101: must be more than 0, and at most 100"],
  [
    'pidsMax: "100"',
    'spec.pidsMax: Invalid value: "100": must be an integer, not a string: remove the quotes',
  ],
  ["pidsMax: 0", "spec.pidsMax: Invalid value: 0: must be 2 to 4194304"],
  ["pidsMax: 1.5", "spec.pidsMax: Invalid value: 1.5: must be an integer, not a fraction"],
  ["runAsUser: -1", "spec.runAsUser: Invalid value: -1: must be 0 to 4294967294"],
  [
    'runAsUser: "www data"',
    'spec.runAsUser: Invalid value: "www data": must be the name or the number of a user or group',
  ],
  [
    "runAsUser: root:root",
    'spec.runAsUser: Invalid value: "root:root": must be the name or the number of a user or group',
  ],
  ["runAsUser: true", "spec.runAsUser: Invalid value: true: must be an integer or a string, not a boolean"],
  ["runAsGroup: []", "spec.runAsGroup: Invalid value: []: must be an integer or a string, not a list"],
  [
    "workingDir: srv",
    'spec.workingDir: Invalid value: "srv": must be an absolute path without control characters',
  ],
  [
    "workingDir: ~/x",
    'spec.workingDir: Invalid value: "~/x": must be an absolute path without control characters',
  ],
  [
    "restartPolicy: always",
    'spec.restartPolicy: Unsupported value: "always": supported values: "Always", "OnFailure", "Never": did you mean "Always"?',
  ],
  [
    "restartPolicy: Allways",
    'spec.restartPolicy: Unsupported value: "Allways": supported values: "Always", "OnFailure", "Never": did you mean "Always"?',
  ],
  [
    "restartPolicy: unless-stopped",
    'spec.restartPolicy: Unsupported value: "unless-stopped": supported values: "Always", "OnFailure", "Never"',
  ],
  [
    "restartPolicy: on-failure",
    'spec.restartPolicy: Unsupported value: "on-failure": supported values: "Always", "OnFailure", "Never": did you mean "OnFailure"?',
  ],
  [
    "restartPolicy: no",
    "spec.restartPolicy: Invalid value: false: must be a string, not a boolean: use Always, OnFailure, Never",
  ],
  [
    "restartPolicy: UnlessStopped",
    'spec.restartPolicy: Unsupported value: "UnlessStopped": supported values: "Always", "OnFailure", "Never"',
  ],
  [
    'suspend: "true"',
    'spec.suspend: Invalid value: "true": must be true or false, not a string: remove the quotes',
  ],
  ["suspend: 1", "spec.suspend: Invalid value: 1: must be true or false, not a number"],
  [
    "schedule: every day",
    'spec.schedule: Invalid value: "every day": must have five fields (minute, hour, day of month, month, day of week), not 2',
  ],
  [
    'schedule: "* * * *"',
    'spec.schedule: Invalid value: "* * * *": must have five fields (minute, hour, day of month, month, day of week), not 4',
  ],
  [
    'schedule: "61 * * * *"',
    'spec.schedule: Invalid value: "61 * * * *": "61" is not a valid minute (0 to 59)',
  ],
  [
    'schedule: "0 25 * * *"',
    'spec.schedule: Invalid value: "0 25 * * *": "25" is not a valid hour (0 to 23)',
  ],
  [
    'schedule: "@every 5m"',
    'spec.schedule: Invalid value: "@every 5m": must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or have five fields',
  ],
  ["schedule: 5", "spec.schedule: Invalid value: 5: must be a string, not a number: quote it"],
  ['schedule: "0 0 30 2 *"', 'spec.schedule: Invalid value: "0 0 30 2 *": month 2 has no day 30'],
  [
    "timeZone: CEST2",
    'spec.timeZone: Invalid value: "CEST2": must be a time zone such as Europe/Berlin or UTC',
  ],
  [
    "timeZone: Mars/Base",
    'spec.timeZone: Invalid value: "Mars/Base": must be a time zone such as Europe/Berlin or UTC',
  ],
  [
    "concurrencyPolicy: allow",
    'spec.concurrencyPolicy: Unsupported value: "allow": supported values: "Forbid", "Allow", "Replace": did you mean "Allow"?',
  ],
  [
    "concurrencyPolicy: Skip",
    'spec.concurrencyPolicy: Unsupported value: "Skip": supported values: "Forbid", "Allow", "Replace"',
  ],
  [
    "terminationGracePeriodSeconds: 30s",
    'spec.terminationGracePeriodSeconds: Invalid value: "30s": must be an integer, not a string: for seconds, write 30',
  ],
  [
    "terminationGracePeriodSeconds: -1",
    "spec.terminationGracePeriodSeconds: Invalid value: -1: must be 0 to 86400",
  ],
  [
    'terminationGracePeriodSeconds: "30"',
    'spec.terminationGracePeriodSeconds: Invalid value: "30": must be an integer, not a string: remove the quotes',
  ],
  [
    "terminationGracePeriodSeconds: 1e12",
    "spec.terminationGracePeriodSeconds: Invalid value: 1000000000000: must be 0 to 86400",
  ],
  [
    "backoffSeconds: 10s",
    'spec.backoffSeconds: Invalid value: "10s": must be an integer, not a string: for seconds, write 10',
  ],
  [
    "activeDeadlineSeconds: 1h",
    'spec.activeDeadlineSeconds: Invalid value: "1h": must be an integer, not a string: for seconds, write 3600',
  ],
  [
    "stopSignal: 15",
    "spec.stopSignal: Invalid value: 15: must be a string, not a number: use a name such as SIGHUP",
  ],
  ["stopSignal: TERM", 'spec.stopSignal: Unsupported value: "TERM": did you mean "SIGTERM"?'],
  ["stopSignal: sigterm", 'spec.stopSignal: Unsupported value: "sigterm": did you mean "SIGTERM"?'],
  ["stopSignal: SIGFOO", 'spec.stopSignal: Unsupported value: "SIGFOO": did you mean "SIGFPE"?'],
  [
    "stopTarget: main",
    'spec.stopTarget: Unsupported value: "main": supported values: "All", "Main": did you mean "Main"?',
  ],
  [
    "stopFile: stop.sh",
    'spec.stopFile: Invalid value: "stop.sh": must be an absolute path without control characters',
  ],
  ["reloadSignal: HUP", 'spec.reloadSignal: Unsupported value: "HUP": did you mean "SIGHUP"?'],
  [
    "reloadCommand: nginx -s reload",
    'spec.reloadCommand: Invalid value: "nginx -s reload": must be a list, not a string: write ["nginx", "-s", "reload"]',
  ],
  ["oomPolicy: kill", 'spec.oomPolicy: Unsupported value: "kill": supported values: "Group", "Process"'],
  ["ports: 80", "spec.ports: Invalid value: 80: must be a list, not a number: write [{port: 80}]"],
  ["ports: [80]", "spec.ports[0]: Invalid value: 80: must be an object, not a number: write {port: 80}"],
  [
    'ports: ["80:80"]',
    'spec.ports[0]: Invalid value: "80:80": must be an object, not a string: write {port: 80}',
  ],
  [
    'ports: ["8080"]',
    'spec.ports[0]: Invalid value: "8080": must be an object, not a string: write {port: 8080}',
  ],
  ["ports: [{port: 99999}]", "spec.ports[0].port: Invalid value: 99999: must be 1 to 65535"],
  ["ports: [{port: http}]", 'spec.ports[0].port: Invalid value: "http": must be an integer, not a string'],
  ["ports: [{containerPort: 80}]", "spec.ports[0].containerPort: Unknown field: use port"],
  [
    "ports: [{port: 80, targetPort: 80}]",
    "spec.ports[0].targetPort: Unknown field: not needed: port is the one that the app opens on the node",
  ],
  [
    "ports: [{port: 80, protocol: tcp}]",
    'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "TCP", "UDP", "SCTP": did you mean "TCP"?',
  ],
  [
    "ports: [{name: http, port: 80}, {name: http, port: 81}]",
    'spec.ports: Invalid value: [{"name":"http","port":80,"protocol":"TCP"},{"name":"http","port":81,"protocol":"TCP"}]: must have unique names',
  ],
  [
    "livenessProbe: {}",
    "spec.livenessProbe: Required value: must have exactly one of exec, httpGet, tcpSocket",
  ],
  [
    "livenessProbe: curl localhost",
    'spec.livenessProbe: Invalid value: "curl localhost": must be an object, not a string: write {exec: {command: [WORD, ...]}}',
  ],
  [
    "livenessProbe: {exec: curl localhost}",
    'spec.livenessProbe.exec: Invalid value: "curl localhost": must be an object, not a string: write {command: [WORD, ...]}',
  ],
  [
    "livenessProbe: {exec: {command: curl localhost}}",
    'spec.livenessProbe.exec.command: Invalid value: "curl localhost": must be a list, not a string: write ["curl", "localhost"]',
  ],
  [
    "livenessProbe: {command: [true]}",
    "spec.livenessProbe.command: Unknown field: use exec: {command: [...]}",
  ],
  [
    "livenessProbe: {httpGet: /healthz}",
    'spec.livenessProbe.httpGet: Invalid value: "/healthz": must be an object, not a string: write {path: /healthz, port: ...}',
  ],
  ["livenessProbe: {httpGet: {path: /}}", "spec.livenessProbe.httpGet.port: Required value"],
  [
    "livenessProbe: {httpGet: {path: healthz, port: 80}}",
    'spec.livenessProbe.httpGet.path: Invalid value: "healthz": must start with a slash and have no spaces',
  ],
  [
    'livenessProbe: {httpGet: {url: "http://localhost/"}}',
    "spec.livenessProbe.httpGet.url: Unknown field: use path and port, such as {path: /, port: 80}",
  ],
  [
    "livenessProbe: {httpGet: {port: web}}",
    'spec.livenessProbe.httpGet.port: Invalid value: "web": must be a number or the name of one of spec.ports',
  ],
  [
    "livenessProbe: {tcpSocket: 80}",
    "spec.livenessProbe.tcpSocket: Invalid value: 80: must be an object, not a number: write {port: 80}",
  ],
  [
    "livenessProbe: {tcpSocket: {port: 0}}",
    "spec.livenessProbe.tcpSocket.port: Invalid value: 0: must be 1 to 65535",
  ],
  [
    "livenessProbe: {grpc: {port: 80}}",
    "spec.livenessProbe.grpc: Unknown field: use exec, httpGet or tcpSocket",
  ],
  [
    "livenessProbe: {tcpSocket: {port: 80}, interval: 10s}",
    "spec.livenessProbe.interval: Unknown field: use periodSeconds",
  ],
  [
    "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10s}",
    'spec.livenessProbe.periodSeconds: Invalid value: "10s": must be an integer, not a string: for seconds, write 10',
  ],
  [
    "livenessProbe: {tcpSocket: {port: 80}, initialDelay: 5}",
    "spec.livenessProbe.initialDelay: Unknown field: use initialDelaySeconds",
  ],
  [
    "livenessProbe: {tcpSocket: {port: 80}, timeout: 5}",
    "spec.livenessProbe.timeout: Unknown field: use timeoutSeconds",
  ],
  [
    "livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}",
    "spec.livenessProbe.successThreshold: Invalid value: 2: must be 1",
  ],
  [
    "livenessprobe: {tcpSocket: {port: 80}}",
    'spec.livenessprobe: Unknown field: did you mean "livenessProbe"?',
  ],
  ["healthcheck: {test: [a]}", "spec.healthcheck: Unknown field: use livenessProbe"],
  [
    "nodeSelector: [a]",
    'spec.nodeSelector: Invalid value: ["a"]: must be an object, not a list: write {NAME: VALUE}',
  ],
  [
    "nodeSelector: {zone: 1}",
    "spec.nodeSelector[zone]: Invalid value: 1: must be a string, not a number: quote it",
  ],
  [
    'nodeName: "Node A"',
    "spec.nodeName: Invalid value: \"Node A\": must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'",
  ],
  [
    "tolerations: {key: a}",
    'spec.tolerations: Invalid value: {"key":"a"}: must be a list, not an object: begin each item with a dash: [{...}, ...]',
  ],
  ["affinity: []", "spec.affinity: Invalid value: []: must be an object, not a list"],
  ["update: RollingUpdate", 'spec.update: Invalid value: "RollingUpdate": must be an object, not a string'],
  [
    "update: {type: RollingUpdate}",
    "spec.update.type: Unknown field: use onFailure, Keep or Rollback: a single app is always replaced",
  ],
  [
    "update: {onFailure: rollback}",
    'spec.update.onFailure: Unsupported value: "rollback": supported values: "Keep", "Rollback": did you mean "Rollback"?',
  ],
  [
    "update: {minReadySeconds: 700}",
    "spec.update.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
  ],
  [
    "update: {minReadySeconds: 10, progressDeadlineSeconds: 5}",
    "spec.update.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
  ],
  [
    "shellFileSHA256: abc",
    'spec.shellFileSHA256: Invalid value: "abc": must be the 64 hex digits of a SHA-256 digest',
  ],
  ["replicas: 3", "spec.replicas: Unknown field: an NCApp runs once, on one node"],
  ["template: {}", "spec.template: Unknown field: an NCApp is one app: an NCAppSet has a template"],
  ["selector: {}", 'spec.selector: Unknown field: did you mean "nodeSelector"?'],
  [
    "dependsOn: [db]",
    "spec.dependsOn: Unknown field: apps start in no order: let the script wait for what it needs",
  ],
  ["after: [db]", "spec.after: Unknown field: apps start in no order: let the script wait for what it needs"],
  ["priorityClass: high", 'spec.priorityClass: Unknown field: did you mean "priorityClassName"?'],
];

const head = "apiVersion: app.example.com/v1alpha1\nkind: NCApp\n";
const named = "metadata: {name: web}\n";
const spec = "spec:\n  shellFile: /opt/a.sh\n";

/** A whole manifest, and what is said about it. */
const texts: readonly [text: string, message: string][] = [
  ["a: [b\n", "web.yaml:2: not YAML: a bracket is not closed, or a line is not indented enough"],
  [`${head}${named}spec:\n\tshellFile: /opt/a.sh\n`, "web.yaml:5: not YAML: indented with a tab: use spaces"],
  [
    `kind: NCApp\n${named}${spec}`,
    "web.yaml:1: has no apiVersion: for an app, write apiVersion: app.example.com/v1alpha1",
  ],
  [
    `apiVersion: v1\nkind: NCApp\n${named}${spec}`,
    'web.yaml:1: NCApp "web" (v1) is not an NCApp of app.example.com/v1alpha1; did you mean apiVersion: app.example.com/v1alpha1?',
  ],
  [
    `apiVersion: app.example.com/v1\nkind: NCApp\n${named}${spec}`,
    'web.yaml:1: unknown apiVersion "app.example.com/v1": use app.example.com/v1alpha1 or app.example.com/v1beta1',
  ],
  [
    `apiVersion: app.example.com/v1alpha1\n${named}${spec}`,
    "web.yaml:1: has no kind: for an app, write kind: NCApp",
  ],
  [
    `apiVersion: app.example.com/v1alpha1\nkind: ncapp\n${named}${spec}`,
    'web.yaml:1: ncapp "web" (app.example.com/v1alpha1) is not an NCApp of app.example.com/v1alpha1; did you mean kind: NCApp?',
  ],
  [
    `apiVersion: app.example.com/v1alpha1\nkind: NCApps\n${named}${spec}`,
    'web.yaml:1: NCApps "web" (app.example.com/v1alpha1) is not an NCApp of app.example.com/v1alpha1; did you mean kind: NCApp?',
  ],
  [
    `${head}metadata: {name: Web_1}\n${spec}`,
    "web.yaml:3: default/Web_1: metadata.name: Invalid value: \"Web_1\": must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'",
  ],
  [`${head}metadata: {}\n${spec}`, "web.yaml:3: metadata.name: Required value"],
  [`${head}${spec}`, "web.yaml:1: metadata: Required value"],
  [
    `${head}metadata: {name: web, namespace: My NS}\n${spec}`,
    'web.yaml:3: "My NS/web": metadata.namespace: Invalid value: "My NS": must be a DNS-1123 label: lower-case letters, digits and \'-\'',
  ],
  [
    `${head}metadata: {name: web, labels: {tier: 1}}\n${spec}`,
    "web.yaml:3: default/web: metadata.labels[tier]: Invalid value: 1: must be a string, not a number: quote it",
  ],
  [
    `${head}metadata: {name: web, labels: [tier]}\n${spec}`,
    'web.yaml:3: default/web: metadata.labels: Invalid value: ["tier"]: must be an object, not a list: write {NAME: VALUE}',
  ],
  [
    `${head}${named}spec: [a]\n`,
    'web.yaml:4: default/web: spec: Invalid value: ["a"]: must be an object, not a list',
  ],
  [`${head}${named}`, "web.yaml:1: default/web: spec: Required value"],
  [
    `${head}${named}shellFile: /opt/a.sh\n`,
    "web.yaml:4: default/web: shellFile: Unknown field: write it in spec",
  ],
  [
    `${head}${named}${spec}  shellFile: /opt/b.sh\n`,
    'web.yaml:6: not YAML: the field "shellFile" is given twice: keep one',
  ],
  [
    `${head}${named}${spec}   args: [b]\n`,
    "web.yaml:6: not YAML: the indentation differs from that of the lines around it",
  ],
  [
    `${head}${named}spec:\n  shellFile: "/opt/a.sh\n`,
    "web.yaml:5: not YAML: a quote is not closed on this line",
  ],
  ["- a\n- b\n", 'web.yaml:1: ["a","b"] is not a Kubernetes object'],
  [
    "services:\n  web:\n    image: nginx\n",
    "web.yaml:1: has no apiVersion: for an app, write apiVersion: app.example.com/v1alpha1",
  ],
  [
    "[Unit]\nDescription=a\n[Service]\nExecStart=/opt/a.sh\n",
    'web.yaml:2: not YAML: expected "key: value": a colon is missing here or on the line before',
  ],
  ['{"a": \n', "web.yaml:2: not YAML: a comma or a closing bracket is missing in [ ] or { }"],
  ["\u0000\u0001", "web.yaml:1: not YAML: contains characters that are no text"],
];

test("each mistake in a spec gets one message with its field, its value and what to write", () => {
  for (const [line, message] of lines) {
    const own = /^shellfile\b/i.test(line) ? "" : "  shellFile: /opt/a.sh\n";
    const text = `${head}${named}spec:\n${own}  ${line}\n`;
    const said = parseManifests(text, "web.yaml").problems.map(formatProblem);
    const where = `web.yaml:${own ? 6 : 5}: default/web: `;
    assert.deepEqual(said, [`${where}${message}`], line);
  }
  assert.ok(lines.length >= 130);
});

test("a text that is no manifest gets one message with its line and what to write", () => {
  for (const [text, message] of texts) {
    assert.deepEqual(parseManifests(text, "web.yaml").problems.map(formatProblem), [message], text);
  }
});
