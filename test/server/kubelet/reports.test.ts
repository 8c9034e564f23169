import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { PodLister } from "../../../src/server/kubelet/kubelet.ts";
import type { AppView } from "../../../src/server/view.ts";
import { tempFolder } from "../../temp-folder.ts";
import { calmUsage } from "../../node/samples.ts";
import { viewWith, web } from "../fake-agent.ts";
import { noPromtool, promtool } from "../promtool.ts";
import { kubeletWith } from "./fake-kubelet.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";

const measured: AppView = {
  ...web,
  usageTime: 1_700_000_000_123,
  status: { ...web.status, startTime: "2026-11-17T07:00:00Z" },
};
const pods: PodLister = {
  appOfPod: (namespace, pod) => pod === "web-x7" ? { namespace, name: "web" } : undefined,
  podOf: (key) => key === "default/web" ? { name: "web-x7", uid: "uid-pod" } : undefined,
  podList: () => [{ metadata: { name: "web-x7" } }],
};
const view = viewWith({ apps: () => [measured], nodeUsage: () => calmUsage });

const metricNames = [
  "node_cpu_usage_seconds_total",
  "node_memory_working_set_bytes",
  "pod_cpu_usage_seconds_total",
  "pod_memory_working_set_bytes",
  "container_cpu_usage_seconds_total",
  "container_memory_working_set_bytes",
  "container_start_time_seconds",
];

test("/metrics/resource has the seven metrics that metrics-server reads, with the Pod's name and the time", async () => {
  const answer = await kubeletWith({ view, pods }).ask("/metrics/resource", { token: "metrics" });
  const text = await answer.text();
  for (const name of metricNames) {
    assert.match(text, new RegExp(`^${name}(\\{.*\\})? [\\d.e+]+ \\d{13}$`, "m"), name);
  }
  assert.match(
    text,
    /^container_cpu_usage_seconds_total\{container="app",namespace="default",pod="web-x7"\} 12.5 1700000000123$/m,
  );
  assert.match(
    text,
    /^pod_memory_working_set_bytes\{namespace="default",pod="web-x7"\} 50000000 1700000000123$/m,
  );
  assert.match(text, /^container_start_time_seconds\{.*\} 1794898800 /m);
});

test("promtool finds nothing to complain about in /metrics/resource", { skip: noPromtool }, async () => {
  const answer = await kubeletWith({ view, pods }).ask("/metrics/resource", { token: "metrics" });
  assert.deepEqual(await promtool(["check", "metrics"], await answer.text()), { code: 0, said: "" });
});

test("apps without a Pod, or that were not measured, have no figures", async () => {
  const bare = viewWith({ apps: () => [web] });
  const text = await (await kubeletWith({ view: bare }).ask("/metrics/resource", { token: "metrics" }))
    .text();
  assert.doesNotMatch(text, /^[a-z]/m);
  const none = { ...pods, podOf: () => undefined };
  const hidden = await kubeletWith({ view, pods: none }).ask("/metrics/resource", { token: "metrics" });
  assert.doesNotMatch(await hidden.text(), /pod=/);
});

test("/stats/summary names Pods and their container", async () => {
  const answer = await kubeletWith({ view, pods }).ask("/stats/summary", { token: "stats" });
  const { pods: found } = await answer.json() as {
    pods: { podRef: object; containers: { name: string }[] }[];
  };
  assert.deepEqual(found.map(({ podRef, containers }) => [podRef, containers.map(({ name }) => name)]), [
    [{ name: "web-x7", namespace: "default", uid: "uid-pod" }, ["app"]],
  ]);
});

test("/pods and /runningpods list the Pods; /healthz says ok", async () => {
  const kubelet = kubeletWith({ view, pods });
  for (const path of ["/pods", "/runningpods"]) {
    const answer = await kubelet.ask(path, { token: "pods" });
    assert.deepEqual(await answer.json(), {
      kind: "PodList",
      apiVersion: "v1",
      metadata: {},
      items: [{ metadata: { name: "web-x7" } }],
    });
  }
  assert.equal(await (await kubelet.ask("/healthz", { token: "health" })).text(), "ok");
});

test("/containerLogs sends the log of the app that the Pod stands for, as kubectl asks for it", async () => {
  using temp = tempFolder();
  const logFile = firstPart(join(temp.path, "default_web"));
  await mkdir(join(temp.path, "default_web"));
  await writeFile(logFile, "one\ntwo\nthree\n");
  const app = { ...web, logFile };
  const seen = viewWith({ apps: () => [app], app: (_, name) => name === "web" ? app : undefined });
  const { asApiServer } = kubeletWith({ view: seen, pods });
  const read = async (query: string) =>
    await (await asApiServer(`/containerLogs/default/web-x7/app${query}`)).text();
  assert.equal(await read(""), "one\ntwo\nthree\n");
  assert.equal(await read("?tailLines=2"), "two\nthree\n");
  assert.equal(await read("?limitBytes=5"), "one\nt");
  // The API server quotes it: one sentence, not a Status.
  assert.match(await read("?limitBytes=0"), /^[^{]*limitBytes: Invalid value: "0/);
  assert.equal(
    await read("?previous=true"),
    "the log of default/web has no run before the current or last one",
  );
  // What newer servers send and this agent does not know is ignored.
  assert.equal(await read("?tailLines=1&stream=All&something=new"), "three\n");
});

test("a Pod or container that is not there is a 404 that names what there is", async () => {
  const { asApiServer } = kubeletWith({ view, pods });
  const message = async (path: string, method = "GET") => {
    const answer = await asApiServer(path, method);
    return [answer.status, (await answer.json() as { message: string }).message];
  };
  const gone = await asApiServer("/containerLogs/default/gone/app");
  assert.deepEqual([gone.status, await gone.text()], [404, 'pods "default/gone" not found on node node-a']);
  assert.deepEqual(await message("/exec/default/web-x7/nginx?command=id&output=1", "POST"), [
    404,
    'container "nginx" of pod web-x7: its container is "app"',
  ]);
  assert.deepEqual(await message("/exec/default/web-x7/app?command=id&output=1", "POST"), [
    409,
    "ncapp default/web is Running, not running",
  ]);
});
