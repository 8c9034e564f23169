/** Holds docs/monitoring against what an agent really serves. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { waitFor } from "../wait-for.ts";
import { serverWith } from "./fake-agent.ts";
import { startLocalAgent } from "./local-agent.ts";
import { parseMetrics } from "./parse-metrics.ts";
import { noPromtool, promtool } from "./promtool.ts";

const folder = fileURLToPath(new URL("../../docs/monitoring/", import.meta.url));
const read = (name: string) => readFile(`${folder}${name}`, "utf8");

interface Rules {
  groups: {
    rules: { record?: string; alert?: string; expr: string; annotations?: { summary?: string } }[];
  }[];
}
interface Grafana {
  templating: { list: { definition?: string }[] };
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
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
  await agent.put("web", { shellFile, cpuPCT: 50, memPCT: 50, terminationGracePeriodSeconds: 1 });
  const text = await waitFor("the app is measured", async () => {
    const { text } = await agent.ask("GET", "/metrics");
    return text.includes("nckubelet_app_memory_bytes{") && text;
  });
  const { types, samples } = parseMetrics(text);
  const names = new Map(Object.keys(types).map((name) => [name, new Set<string>()]));
  for (const { name, labels } of samples) {
    names.set(name, new Set([...names.get(name) ?? [], ...Object.keys(labels)]));
  }
  // An agent without an API server has made no requests.
  names.set("nckubelet_api_requests_total", new Set(["verb", "resource", "code"]));
  names.set("nckubelet_watch_restarts_total", new Set(["reason"]));
  return names;
}

test("every name and label in the rules and the dashboard is one that an agent serves", async () => {
  const names = await servedNames();
  const rules = (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules);
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
  for (const { where, text } of await expressions()) {
    for (const [, name = "", matchers = ""] of text.matchAll(/(nckubelet[_:][a-z0-9_:]+)(?:\{([^}]*)\})?/g)) {
      const labels = names.get(name);
      assert.ok(labels || recorded.has(name), `${where}: no agent serves ${name}`);
      for (const [, label = ""] of matchers.matchAll(/([a-z]+)\s*=?~?!?[=~]"/g)) {
        const isTarget = label === "instance" || label === "job";
        assert.ok(isTarget || labels?.has(label), `${where}: ${name} has no label ${label}`);
      }
    }
  }
});

test("everything that is served is watched by a rule or shown in the dashboard", async () => {
  const asked = (await expressions()).map(({ text }) => text).join("\n");
  const { types } = parseMetrics(await (await serverWith().request("/metrics")).text());
  for (const name of Object.keys(types)) assert.ok(asked.includes(name), name);
});

test("every alert says what is wrong, and panels have ids of their own", async () => {
  const rules = (load(await read("rules.yaml")) as Rules).groups.flatMap(({ rules }) => rules);
  for (const { alert, annotations } of rules) {
    assert.ok(!alert || annotations?.summary, `${alert} has no summary`);
  }
  const { panels } = JSON.parse(await read("grafana.json")) as Grafana;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});

test("promtool accepts the rules, and their tests pass", { skip: noPromtool }, async () => {
  for (const words of [["check", "rules", "rules.yaml"], ["test", "rules", "rules-test.yaml"]]) {
    const { code, said } = await promtool(words, "", folder);
    assert.equal(code, 0, said);
  }
});
