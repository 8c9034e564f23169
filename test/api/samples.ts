/**
 * Good and bad specs. The unit tests check the validator with them and the cluster tests a real API server, so both must
 * agree.
 */

/** What rejects a bad spec: the schema (every server), a CEL rule (newer servers), or only the validator. */
export type RefusedBy = "schema" | "cel" | "validator";
export type BadSpec = { spec: unknown; field: string; by: RefusedBy };

/** Valid specs. */
export const goodSpecs: readonly unknown[] = [
  {},
  { shellFile: "", cpuPCT: "", memPCT: "" },
  { shellFile: null, cpuPCT: null, env: null, livenessProbe: null, suspend: null, restartPolicy: null },
  ...["20", "12.5", "20%", "100", "100.0%", "0.1", "0.05", "99.999", "1", 1, 20, 100].map((cpuPCT) => ({
    cpuPCT,
  })),
  { memPCT: "12.5%" },
  ...["/opt/app/start.sh", "/opt/my app/ü.sh", "https://example.com/run.sh", "https://[::1]:8443/a?b=c@d#e"]
    .map((
      shellFile,
    ) => ({ shellFile })),
  { shellFile: "http://10.0.0.1:8080/x", shellFileSHA256: "aB".repeat(32) },
  {
    shellFileSHA256: "",
    workingDir: "",
    stopFile: "",
    runAsUser: "",
    runAsGroup: "",
    nodeName: "",
    timeZone: "",
  },
  { args: ["", "--x", "two\nlines", "日本"], workingDir: "/srv", stopFile: "/opt/stop.sh" },
  ...["www-data", "_apt", "first.last", "machine$", "1000", 0, 1000, 4_294_967_294].map((runAsUser) => ({
    runAsUser,
  })),
  { env: [{ name: "A", value: "" }, { name: "_b2", value: "x y" }, { name: "C" }] },
  {
    env: [
      { name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k.1" } } },
      { name: "B", valueFrom: { configMapKeyRef: { name: "c", key: "k", optional: true } } },
      ...["metadata.name", "metadata.labels['example.com/zone']", "spec.nodeName", "spec.memPCT"].map((
        fieldPath,
        i,
      ) => ({
        name: `F${i}`,
        valueFrom: { fieldRef: { fieldPath } },
      })),
    ],
  },
  { pidsMax: 2, oomPolicy: "Process", restartPolicy: "OnFailure", backoffSeconds: 0, maxBackoffSeconds: 0 },
  { terminationGracePeriodSeconds: 0, suspend: true, allowExec: true },
  { stopSignal: "SIGQUIT", stopTarget: "Main" },
  { stopSignal: null, stopTarget: null },
  { update: {} },
  { update: { minReadySeconds: 599 } },
  { update: { minReadySeconds: 1, progressDeadlineSeconds: 2, onFailure: "Rollback" } },
  { reloadSignal: "SIGHUP" },
  { envFile: "/etc/default/web" },
  { envFile: "-/etc/default/web" },
  { envFile: "" },
  { reloadCommand: ["/usr/sbin/nginx", "-s", "reload"] },
  { livenessProbe: { exec: { command: ["true"] }, initialDelaySeconds: 0, failureThreshold: 10 } },
  {
    ports: [{ name: "web", port: 80 }, { port: 80, protocol: "UDP" }, { name: "admin-2", port: 65_535 }],
    readinessProbe: {
      httpGet: {
        port: "web",
        path: "/ready?x=1",
        scheme: "HTTPS",
        httpHeaders: [{ name: "X-A", value: "b" }],
      },
      successThreshold: 3,
    },
    startupProbe: { tcpSocket: { port: 80, host: "::1" } },
  },
  ...["*/5 * * * *", "0 3 1,15 jan-mar MON-FRI", "@daily", "0 0 29 2 *", "*/10 * * * * *"].map((
    schedule,
  ) => ({
    schedule,
    timeZone: "Europe/Berlin",
    concurrencyPolicy: "Replace",
  })),
  { activeDeadlineSeconds: 1, successfulRunsHistoryLimit: 0, failedRunsHistoryLimit: 10 },
  { nodeName: "node-1.example.com", schedulerName: "my-scheduler", priorityClassName: "high" },
  { nodeSelector: { "kubernetes.io/arch": "arm64", zone: "" } },
  {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: "a", operator: "In", values: ["x", "y"] }, {
                key: "b",
                operator: "Exists",
              }],
            },
            { matchExpressions: [{ key: "cores", operator: "Gt", values: ["4"] }] },
            { matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["node-1"] }] },
            {},
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, preference: { matchExpressions: [{ key: "ssd", operator: "DoesNotExist" }] } },
        ],
      },
    },
  },
  {
    tolerations: [
      { operator: "Exists" },
      { key: "a", value: "b", effect: "NoSchedule" },
      { key: "example.com/b", operator: "Exists", effect: "NoExecute", tolerationSeconds: -1 },
    ],
  },
];

const bad = (by: RefusedBy, field: string, ...specs: unknown[]): BadSpec[] =>
  specs.map((spec) => ({ spec, field, by }));
const term = (requirement: unknown) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [requirement] }],
      },
    },
  },
});
const terms = (count: number) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: Array.from({ length: count }, () => ({})),
      },
    },
  },
});
const spread = (given: object) => ({
  topologySpreadConstraints: [{
    maxSkew: 1,
    topologyKey: "zone",
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: {},
    ...given,
  }],
});
const apart = (labelSelector: unknown) => ({
  affinity: {
    appAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", labelSelector }],
    },
  },
});
const at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

/** Invalid specs, with the field that the error names. */
export const badSpecs: readonly BadSpec[] = [
  ...bad("schema", "spec", 5, "x", [], true),
  ...[
    "200",
    "abc",
    -1,
    "0",
    "0.0",
    "0%",
    0,
    101,
    "100.1",
    "-5",
    "5 %",
    " 5",
    "05",
    ".5",
    "5.",
    "1e1",
    12.5,
    true,
    {},
  ]
    .flatMap((value) => bad("schema", "spec.cpuPCT", { cpuPCT: value })),
  ...["101%", [], 1000].flatMap((value) => bad("schema", "spec.memPCT", { memPCT: value })),
  ...[
    "relative.sh",
    "./x",
    "~/x",
    "ftp://h/x",
    "file:///x",
    "https://",
    "https://u:p@h/x",
    "https://u@h/x",
    "/a\nb",
    "/a\u0000",
    "https://h/a b",
    " /x",
    "HTTPS://h/x",
    7,
  ].flatMap((shellFile) => bad("schema", "spec.shellFile", { shellFile })),
  ...bad("cel", "spec.shellFileSHA256", { shellFile: "http://h/x" }, {
    shellFile: "http://h/x",
    shellFileSHA256: "",
  }),
  ...bad("validator", "spec.shellFile", { shellFile: "https://h:port/x" }, { shellFile: "https://[::1/x" }),
  ...bad("schema", "spec.shellFileSHA256", { shellFileSHA256: "abc" }, { shellFileSHA256: "x".repeat(64) }),
  ...bad("schema", "spec.args[1]", { args: ["a", 5] }, { args: ["a", "b\u0000"] }, { args: ["a", null] }),
  ...bad("schema", "spec.args", { args: "a b" }),
  ...bad("schema", "spec.workingDir", { workingDir: "srv" }),
  ...bad("schema", "spec.stopFile", { stopFile: "https://h/stop.sh" }),
  ...bad(
    "schema",
    "spec.stopSignal",
    ...["QUIT", "sigquit", "SIGNONE", "SIG32", "", 3].map((stopSignal) => ({ stopSignal })),
  ),
  ...bad("schema", "spec.envFile", ...["web.env", "--/a", "-", "/a\nb", 3].map((envFile) => ({ envFile }))),
  ...bad("schema", "spec.reloadSignal", { reloadSignal: "HUP" }, { reloadSignal: "" }),
  ...bad("schema", "spec.reloadCommand", { reloadCommand: [] }, { reloadCommand: "nginx -s reload" }),
  ...bad("cel", "spec.reloadCommand", { reloadSignal: "SIGHUP", reloadCommand: ["true"] }),
  ...bad("schema", "spec.stopTarget", { stopTarget: "main" }, { stopTarget: "" }),
  ...bad("schema", "spec.runAsUser", { runAsUser: -1 }, { runAsUser: "a b" }, { runAsUser: 4_294_967_295 }, {
    runAsUser: "-x",
  }),
  ...bad("cel", "spec.runAsGroup", { runAsGroup: "4294967295" }),
  ...["A-B", "1A", "", "A=B", "Ä"].flatMap((name) =>
    bad("schema", "spec.env[0].name", { env: [{ name, value: "x" }] })
  ),
  ...bad("schema", "spec.env[0].name", { env: [{ value: "x" }] }),
  ...bad("schema", "spec.env[0].value", { env: [{ name: "A", value: 5 }] }, {
    env: [{ name: "A", value: "a\u0000" }],
  }),
  ...bad("schema", "spec.env[1]", { env: [{ name: "A" }, { name: "A" }] }),
  ...bad(
    "cel",
    "spec.env[0].valueFrom",
    {
      env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    },
    { env: [{ name: "A", valueFrom: {} }] },
    {
      env: [{
        name: "A",
        valueFrom: { fieldRef: { fieldPath: "metadata.uid" }, secretKeyRef: { name: "s", key: "k" } },
      }],
    },
  ),
  ...bad("schema", "spec.env[0].valueFrom.secretKeyRef.key", {
    env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s" } } }],
  }, { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "a/b" } } }] }),
  ...bad("schema", "spec.env[0].valueFrom.fieldRef.fieldPath", {
    env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.env" } } }],
  }),
  ...[0, 1, -1, "7", 5_000_000, 1.5].flatMap((pidsMax) => bad("schema", "spec.pidsMax", { pidsMax })),
  ...bad("schema", "spec.oomPolicy", { oomPolicy: "group" }, { oomPolicy: "" }),
  ...bad("schema", "spec.restartPolicy", { restartPolicy: "Sometimes" }, { restartPolicy: "" }),
  ...bad("schema", "spec.backoffSeconds", { backoffSeconds: -1 }, { backoffSeconds: "10" }),
  ...bad("cel", "spec.maxBackoffSeconds", { backoffSeconds: 600 }, {
    backoffSeconds: 20,
    maxBackoffSeconds: 10,
  }),
  ...bad("schema", "spec.terminationGracePeriodSeconds", { terminationGracePeriodSeconds: -1 }),
  ...bad("schema", at, terms(17)),
  ...bad("schema", "spec.livenessProbe.httpGet.path", {
    livenessProbe: { httpGet: { port: 80, path: `/${"a".repeat(8192)}` } },
  }),
  ...bad("schema", "spec.livenessProbe.tcpSocket.host", {
    livenessProbe: { tcpSocket: { port: 80, host: "a".repeat(254) } },
  }),
  ...bad("schema", "spec.suspend", { suspend: "true" }, { suspend: 1 }),
  ...bad("schema", "spec.allowExec", { allowExec: "true" }, { allowExec: 1 }),
  ...bad("schema", "spec.concurrencyPolicy", { concurrencyPolicy: "Never" }),
  ...bad(
    "schema",
    "spec.activeDeadlineSeconds",
    { activeDeadlineSeconds: 0 },
    { activeDeadlineSeconds: "5" },
    {
      activeDeadlineSeconds: 2 ** 31,
    },
  ),
  ...bad("schema", "spec.update.minReadySeconds", { update: { minReadySeconds: 0 } }),
  ...bad("schema", "spec.update.onFailure", { update: { onFailure: "Pause" } }),
  ...bad(
    "cel",
    "spec.update.progressDeadlineSeconds",
    { update: { minReadySeconds: 600 } },
    { update: { minReadySeconds: 5, progressDeadlineSeconds: 5 } },
  ),
  ...bad("schema", "spec.successfulRunsHistoryLimit", { successfulRunsHistoryLimit: 11 }),
  ...bad("schema", "spec.failedRunsHistoryLimit", { failedRunsHistoryLimit: -1 }),
  ...["5-1 * * * *", "0 0 31 2 *", "0 0 30,31 feb *"].flatMap((schedule) =>
    bad("validator", "spec.schedule", { schedule })
  ),
  ...[
    "* * * *",
    "60 * * * *",
    "* * * * * * *",
    "0-999999999 * * * *",
    "*/0 * * * *",
    "5/2 * * * *",
    "@reboot",
    "a b c d e",
    "0 0 * * mo",
    "0 0 L * *",
    "1,,2 * * * *",
    "0\t0 * * *",
    "60 0 * * * *",
    "0 24 * * *",
    "0 0 ? 13 *",
  ].flatMap((schedule) => bad("cel", "spec.schedule", { schedule })),
  ...bad("cel", "spec.timeZone", { timeZone: "Mars/Olympus" }),
  ...bad("cel", "spec.livenessProbe", { livenessProbe: {} }, {
    livenessProbe: { exec: { command: ["x"] }, tcpSocket: { port: 1 } },
  }),
  ...bad("schema", "spec.livenessProbe.successThreshold", {
    livenessProbe: { exec: { command: ["x"] }, successThreshold: 2 },
  }),
  ...bad("schema", "spec.startupProbe.successThreshold", {
    startupProbe: { exec: { command: ["x"] }, successThreshold: 2 },
  }),
  ...bad("schema", "spec.readinessProbe.periodSeconds", {
    readinessProbe: { exec: { command: ["x"] }, periodSeconds: 0 },
  }),
  ...bad("schema", "spec.readinessProbe.exec.command", { readinessProbe: { exec: { command: [] } } }, {
    readinessProbe: { exec: {} },
  }),
  ...[0, 65_536, "8080", "Web", "a--b", "-a", "much-too-long-name"].flatMap((port) =>
    bad("schema", "spec.readinessProbe.httpGet.port", { readinessProbe: { httpGet: { port } } })
  ),
  ...bad("cel", "spec.readinessProbe.httpGet.port", {
    ports: [{ port: 80 }, { name: "other", port: 81 }],
    readinessProbe: { httpGet: { port: "web" } },
  }),
  ...bad("cel", "spec.startupProbe.tcpSocket.port", { startupProbe: { tcpSocket: { port: "web" } } }),
  ...bad("schema", "spec.livenessProbe.httpGet.scheme", {
    livenessProbe: { httpGet: { port: 1, scheme: "http" } },
  }),
  ...bad("schema", "spec.livenessProbe.httpGet.path", {
    livenessProbe: { httpGet: { port: 1, path: "ready" } },
  }),
  ...bad("schema", "spec.livenessProbe.httpGet.httpHeaders[0].value", {
    livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: "A", value: "b\r\nC: d" }] } },
  }),
  ...bad("schema", "spec.ports[0].port", { ports: [{ port: 0 }] }, { ports: [{ name: "a" }] }, {
    ports: [{ port: "80" }],
  }),
  ...bad("schema", "spec.ports[0].protocol", { ports: [{ port: 1, protocol: "tcp" }] }),
  ...bad("schema", "spec.ports[1]", { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] }),
  ...bad("cel", "spec.ports", { ports: [{ name: "a", port: 1 }, { name: "a", port: 2 }] }),
  ...bad("schema", "spec.nodeName", { nodeName: "Node_1" }, { nodeName: "a/b" }, { nodeName: "../x" }),
  ...bad("schema", "spec.nodeSelector[zone]", { nodeSelector: { zone: "a b" } }, {
    nodeSelector: { zone: 5 },
  }),
  ...bad("validator", "spec.nodeSelector", { nodeSelector: { "a b": "c" } }, {
    nodeSelector: { "a/b/c": "c" },
  }, {
    nodeSelector: { ["a".repeat(318)]: "c" },
  }),
  ...bad("schema", `${at}`, {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  }),
  ...bad(
    "schema",
    `${at}[0].matchExpressions[0].operator`,
    term({ key: "a", operator: "in", values: ["b"] }),
  ),
  ...bad(
    "cel",
    `${at}[0].matchExpressions[0].values`,
    term({ key: "a", operator: "In" }),
    term({ key: "a", operator: "Exists", values: ["b"] }),
    term({ key: "a", operator: "Gt", values: ["many"] }),
    term({ key: "a", operator: "Lt", values: ["1", "2"] }),
  ),
  ...bad("schema", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", {
    affinity: {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }] },
    },
  }),
  ...bad("schema", "spec.topologySpreadConstraints[0].maxSkew", spread({ maxSkew: 0 })),
  ...bad("schema", "spec.topologySpreadConstraints[0].topologyKey", spread({ topologyKey: "a b" })),
  ...bad("schema", "spec.topologySpreadConstraints[0].labelSelector", spread({ labelSelector: undefined })),
  ...bad(
    "schema",
    "spec.topologySpreadConstraints[0].whenUnsatisfiable",
    spread({ whenUnsatisfiable: "Maybe" }),
  ),
  ...bad(
    "cel",
    "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values",
    spread({ labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
  ),
  ...bad(
    "cel",
    "spec.affinity.appAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values",
    apart({ matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] }),
  ),
  ...bad("cel", "spec.tolerations[0].operator", { tolerations: [{}] }, {
    tolerations: [{ key: "", operator: "Equal" }],
  }),
  ...bad("cel", "spec.tolerations[0].value", { tolerations: [{ key: "a", operator: "Exists", value: "b" }] }),
  ...bad("cel", "spec.tolerations[0].effect", { tolerations: [{ key: "a", tolerationSeconds: 5 }] }, {
    tolerations: [{ key: "a", effect: "NoSchedule", tolerationSeconds: 5 }],
  }),
  ...bad("schema", "spec.tolerations[0].effect", { tolerations: [{ key: "a", effect: "noexecute" }] }),
  ...bad("schema", "spec.priorityClassName", { priorityClassName: "High Priority" }),
];

/** Returns a whole NCApp with this spec. */
export function appWith(spec: unknown, metadata: object = { name: "sample" }): { [name: string]: unknown } {
  return { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", metadata, spec };
}

/** Bad values, with the words in which the API server refuses them. */
export const explainedSpecs: readonly [spec: Record<string, unknown>, words: RegExp][] = [
  [{ cpuPCT: "200" }, /spec\.cpuPCT: .*must be a percentage greater than 0 and at most 100, such as/],
  [{ memPCT: 101 }, /spec\.memPCT: .*must be a percentage greater than 0 and at most 100/],
  [
    { schedule: "61 * * * *" },
    /spec\.schedule: .*the minute must be 0 to 59, \*, or a list, range or step of these/,
  ],
  [{ schedule: "0 0 * * mo" }, /the day of week must be 0 to 7, sun to sat, /],
  [{ schedule: "hourly" }, /must have five fields \(minute, hour, .* or be one of @yearly/],
  [
    { timeZone: "Mars/Olympus" },
    /spec\.timeZone: .*unknown time zone Mars\/Olympus .*must be a time zone such as Europe\/Berlin or UTC/,
  ],
];
