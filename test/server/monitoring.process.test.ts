/** Holds docs/monitoring against what an agent and the controllers really serve. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { reasons } from "../../src/api/reasons.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { renderSetsMetrics } from "../../src/sets/metrics.ts";
import type { AppSet } from "../../src/sets/types.ts";
import { waitFor } from "../wait-for.ts";
import { serverWith } from "./fake-agent.ts";
import { startLocalAgent } from "./local-agent.ts";
import { parseMetrics } from "./parse-metrics.ts";
import { noPromtool, promtool } from "./promtool.ts";

const folder = fileURLToPath(new URL("../../docs/monitoring/", import.meta.url));
const alertTests = globSync(fileURLToPath(new URL("alerts/*.yaml", import.meta.url)));
const read = (name: string) => readFile(`${folder}${name}`, "utf8");

interface Rules {
  groups: {
    rules: { record?: string; alert?: string; expr: string; annotations?: { summary?: string } }[];
  }[];
}
interface RuleTests {
  tests: { alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[] }[];
}
interface Grafana {
  templating: { list: { definition?: string }[] };
  panels: { id: number; title: string; type: string; repeat?: string; targets?: { expr: string }[] }[];
}

async function expressions(): Promise<{ where: string; text: string }[]> {
  const rules = (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules);
  const grafana = JSON.parse(await read("grafana.json")) as Grafana;
  return [
    ...rules.map(({ record, alert, expr }) => ({ where: record ?? alert ?? "", text: expr })),
    ...grafana.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ where: title, text: expr }))
    ),
    ...grafana.templating.list.flatMap(({ definition }) =>
      definition ? [{ where: "a variable", text: definition }] : []
    ),
  ];
}

/** What an agent with an app that runs within caps serves: each name with its labels. */
async function servedNames(): Promise<Map<string, Set<string>>> {
  await using agent = await startLocalAgent({ reportPeriodMs: 100 });
  const shellFile = await agent.script("web.sh", "exec sleep 600");
  const readinessProbe = { exec: { command: ["true"] } };
  await agent.put("web", {
    shellFile,
    cpuPCT: 50,
    memPCT: 50,
    readinessProbe,
    terminationGracePeriodSeconds: 1,
  });
  const tick = await agent.script("tick.sh", "exit 0");
  await agent.put("tick", { shellFile: tick, schedule: "* * * * * *" });
  const text = await waitFor("one app is measured, and another has completed", async () => {
    const { text } = await agent.ask("GET", "/metrics");
    const wanted = ["nckubelet_app_memory_bytes{", "nckubelet_app_last_success_timestamp_seconds{"];
    return wanted.every((name) => text.includes(name)) && text;
  });
  const { types, samples } = parseMetrics(text);
  const names = new Map(Object.keys(types).map((name) => [name, new Set<string>()]));
  for (const { name, labels } of samples) {
    names.set(name, new Set([...names.get(name) ?? [], ...Object.keys(labels)]));
  }
  // An agent without an API server has made no requests.
  names.set("nckubelet_api_requests_total", new Set(["verb", "resource", "code"]));
  names.set("nckubelet_watch_restarts_total", new Set(["reason"]));
  names.set("nckubelet_credential_expiration_timestamp_seconds", new Set(["credential"]));
  for (const { name, labels } of await schedulerMetrics()) names.set(name, new Set(Object.keys(labels)));
  for (const { name, labels } of await setMetrics()) names.set(name, new Set(Object.keys(labels)));
  return names;
}

async function schedulerMetrics() {
  const values = { leader: true, queues: { parked: 1 }, nodes: {}, apps: 1, namespacesOverQuota: 0 };
  return parseMetrics(await createSchedulerMetrics().render(values)).samples;
}

/** What a controller with a set serves about it. */
async function setMetrics() {
  const metadata = { namespace: "shop", name: "web", uid: "1", resourceVersion: "1" };
  const set = { metadata, spec: {}, status: {} } as unknown as AppSet;
  return parseMetrics(await renderSetsMetrics([set])).samples;
}

test("every name and label in the rules and the dashboard is one that an agent serves", async () => {
  const names = await servedNames();
  const rules = (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules);
  // A recorded series has labels of what it is made of.
  for (const { record, expr } of rules) {
    const sources = [...names].filter(([name]) => expr.includes(name));
    if (record) names.set(record, new Set(sources.flatMap(([, labels]) => [...labels])));
  }
  for (const { where, text } of await expressions()) {
    for (
      const [, name = "", matchers = ""] of text.matchAll(
        /\b((?:nckubelet[_:]|process_)[a-z0-9_:]+)(?:\{([^}]*)\})?/g,
      )
    ) {
      const labels = names.get(name);
      assert.ok(labels, `${where}: no agent serves ${name}`);
      for (const [, label = ""] of matchers.matchAll(/([a-z]+)\s*=?~?!?[=~]"/g)) {
        const isTarget = label === "instance" || label === "job";
        assert.ok(isTarget || labels.has(label), `${where}: ${name} has no label ${label}`);
      }
    }
  }
});

test("everything that is served is watched by a rule or shown in the dashboard, and explained", async () => {
  const asked = (await expressions()).map(({ text }) => text).join("\n");
  const explained = await read("README.md");
  const { types } = parseMetrics(await (await serverWith().request("/metrics")).text());
  const names = [...Object.keys(types), ...(await setMetrics()).map(({ name }) => name)];
  for (const name of names) {
    assert.ok(asked.includes(name), name);
    assert.ok(explained.includes(`\`${name}\``), `README.md has no ${name}`);
  }
});

test("every alert says what is wrong, and panels have ids of their own", async () => {
  const rules = (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules);
  for (const { alert, annotations } of rules) {
    assert.ok(!alert || annotations?.summary, `${alert} has no summary`);
  }
  const { panels } = JSON.parse(await read("grafana.json")) as Grafana;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});

test("the last row of the dashboard is repeated for each node", async () => {
  const { panels } = JSON.parse(await read("grafana.json")) as Grafana;
  const row = panels.findLastIndex(({ type }) => type === "row");
  assert.equal(panels[row]?.repeat, "instance");
  for (const { title, targets = [] } of panels.slice(row + 1)) {
    for (const { expr } of targets) assert.match(expr, /instance="\$instance"/, title);
  }
});

test("every alert is tested at a time when it fires and at one when it does not", async () => {
  const texts = await Promise.all(alertTests.map((path) => readFile(path, "utf8")));
  const tests = texts.flatMap((text) => (load(text) as RuleTests).tests);
  const cases = tests.flatMap(({ alert_rule_test: cases = [] }) => cases);
  const tested = (fires: boolean) =>
    cases.filter(({ exp_alerts: alerts }) => alerts.length > 0 === fires).map(({ alertname }) => alertname);
  for (const { alert } of (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules)) {
    if (alert) {
      assert.deepEqual(
        [tested(true), tested(false)].map((names) => names.includes(alert)),
        [true, true],
        alert,
      );
    }
  }
});

test("every reason in the rules and the dashboard is one that the agent writes", async () => {
  for (const { where, text } of await expressions()) {
    for (const [, values = ""] of text.matchAll(/reason!?=?~?"([A-Z|][A-Za-z|]*)"/g)) {
      const unknown = values.split("|").filter((value) =>
        value && !reasons.some((reason) => reason === value)
      );
      assert.deepEqual(unknown, [], where);
    }
  }
});

// Seconds of work, and none of it by the runtime.
test("promtool accepts the rules, and their tests pass", { skip: noPromtool }, async () => {
  const calls = [["check", "rules", "rules.yaml"], ...alertTests.map((path) => ["test", "rules", path])];
  for (const { code, said } of await Promise.all(calls.map((words) => promtool(words, "", folder)))) {
    assert.equal(code, 0, said);
  }
});
