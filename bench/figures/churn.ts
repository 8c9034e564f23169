/**
 * A node of a busy cluster: 2,000 NCApps, 200 of them here, 50 updates a second on all of them.
 *
 * The API server that the tests are built with cannot select by a field of a custom resource, so the watch brings every update to the
 * agent, which is the worst case. An update of an app of this node changes its grace period, which applies live; elsewhere likewise.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { startAgentProcess } from "../../test/agent-process.ts";
import { createApp } from "../../test/harness/create-app.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { type ClusterScene, inParallel, nodeName, withClusterScene } from "../cluster-scene.ts";
import { readCost } from "../process-cost.ts";
import { createStartedFiles } from "../started-files.ts";
import { mean, slope } from "../statistics.ts";

const apps = 2000;
const here = 200;
const perSecond = 50;
const warmUpSeconds = 10;

export const churn: Benchmark = {
  name: "churn",
  about:
    `${apps} NCApps on a real API server, ${here} of them on this node, ${perSecond} updates a second spread over all: CPU and ` +
    "memory of the agent. 40 s; five minutes with --long.",
  needs: ["executable", "control-plane"],
  run: (context) => withClusterScene((scene) => measure(scene, context)),
};

async function measure(
  { client, agentFlags }: ClusterScene,
  { long, say, chart }: Context,
): Promise<Figure[]> {
  await using files = await createStartedFiles();
  say(`creating ${apps} NCApps`);
  await inParallel(apps, 16, (at) => {
    const node = at < here ? nodeName : `other-${at % 50}`;
    return createApp(client, `app-${at}`, {
      shellFile: files.shellFile,
      args: [files.fileOf(`app-${at}`)],
      nodeName: node,
    });
  });
  await using agent = await startAgentProcess(agentFlags);
  await files.waitForAll(here);
  await pause(5000);
  const seconds = long ? 300 : 40;
  say(`updates for ${seconds + warmUpSeconds} s`);
  const stopping = new AbortController();
  const updating = updateSteadily(client, stopping.signal);
  await pause(warmUpSeconds * 1000);
  const samples = await sample(agent.pid(), seconds);
  stopping.abort();
  const sent = await updating;
  const points = (pick: (one: Sample) => number) =>
    samples.map((one): [number, number] => [one.at, pick(one)]);
  chart({
    name: "churn-memory",
    title: `Memory of the agent at ${perSecond} updates a second`,
    x: { label: "seconds" },
    y: { label: "MB" },
    lines: [
      { name: "resident", points: points((one) => one.residentMB) },
      { name: "anonymous", points: points((one) => one.anonymousMB) },
    ],
  });
  const half = samples.length >> 1;
  const resident = (part: Sample[]) => mean(part.map(({ residentMB }) => residentMB));
  return [
    {
      figure: `${perSecond} updates a second over ${apps} NCApps, agent's CPU`,
      ours: (samples.at(-1)!.cpuSeconds - samples[0]!.cpuSeconds) / (samples.at(-1)!.at - samples[0]!.at) *
        100,
      unit: "% of a core",
      asked: 25,
      note: `${
        sent.rate.toFixed(1)
      } updates a second were answered; every one reaches the agent, for lack of a field selector`,
    },
    {
      figure: `${perSecond} updates a second, growth of resident memory from the first half to the second`,
      ours: Math.max(0, resident(samples.slice(half)) - resident(samples.slice(0, half))),
      unit: "MB",
      asked: 3,
      note: `over ${seconds} s; the slope of the anonymous memory is ${
        (slope(points((one) => one.anonymousMB)) * 60).toFixed(2)
      } MB a minute; resident at the end ${samples.at(-1)!.residentMB.toFixed(0)} MB, anonymous ${
        samples.at(-1)!.anonymousMB.toFixed(0)
      } MB`,
    },
  ];
}

interface Sample {
  at: number;
  cpuSeconds: number;
  residentMB: number;
  anonymousMB: number;
}

async function sample(pid: number, seconds: number): Promise<Sample[]> {
  const start = performance.now();
  const samples: Sample[] = [];
  for (;;) {
    const at = (performance.now() - start) / 1000;
    const { cpuSeconds, residentMB, anonymousMB } = readCost(pid);
    samples.push({ at, cpuSeconds, residentMB, anonymousMB });
    if (at >= seconds) return samples;
    await pause(2000);
  }
}

/** Sends updates at a fixed rate, even while earlier ones are in flight; returns the answers per second. */
async function updateSteadily(client: KubeClient, signal: AbortSignal): Promise<{ rate: number }> {
  const start = performance.now();
  let answered = 0;
  const inFlight = new Set<Promise<void>>();
  for (let count = 0; !signal.aborted; count++) {
    const late = start + count * 1000 / perSecond - performance.now();
    if (late > 0) await pause(late);
    const path = ncappPath("default", `app-${Math.floor(Math.random() * apps)}`);
    const body = { spec: { terminationGracePeriodSeconds: 1 + count % 100 } };
    const update = client.request({ method: "PATCH", path, body }).then(() => void answered++, () => {});
    inFlight.add(update);
    void update.finally(() => inFlight.delete(update));
  }
  const rate = answered / (performance.now() - start) * 1000;
  await Promise.all(inFlight);
  return { rate };
}
