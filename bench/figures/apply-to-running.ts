/**
 * From the request that creates an NCApp to the first line of its script, beside a node agent that polls.
 *
 * The poller is real: it lists the NCApps of the same API server every ten seconds and starts what is new. The limit is a process
 * that has only a watch and starts the script as soon as the bytes with its name are there: no checks, no limits, no log, no record.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { startAgentProcess } from "../../test/agent-process.ts";
import { createApp } from "../../test/harness/create-app.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { type ClusterScene, nodeName, withClusterScene } from "../cluster-scene.ts";
import { createFirstLines, type FirstLines, now } from "../first-line.ts";
import { distribution, median, percentile } from "../statistics.ts";

const apps = 100;
const warmUps = 5;
const pollMs = 10_000;
const pollPeriods = 2;
const kubectlRuns = 10;

export const applyToRunning: Benchmark = {
  name: "apply-to-running",
  about:
    `From just before the request that creates an NCApp to the first line of its script: ${apps} apps, one by one, ` +
    `on a real API server. The peer polls every ${
      pollMs / 1000
    } s, as the first NC-Kubelet did; the limit is a bare watch and a bare start.`,
  needs: ["executable", "control-plane"],
  run: (context) => withClusterScene((scene) => measure(scene, context)),
};

interface Setting {
  client: KubeClient;
  lines: FirstLines;
}

async function measure(
  { cluster, client, agentFlags }: ClusterScene,
  { say, chart }: Context,
): Promise<Figure[]> {
  await using lines = await createFirstLines();
  const setting = { client, lines };
  const watched = await measureWatching(agentFlags, setting, say);
  say(`a poller: ${apps} apps within ${pollPeriods} periods`);
  const polled = await measurePolling(setting);
  const kubectl: number[] = [];
  for (let run = 0; run < kubectlRuns; run++) {
    const app = {
      ...manifest(`kubectl-${run}`, "none", lines),
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
    };
    const start = now();
    await cluster.apply(app);
    kubectl.push(now() - start);
  }
  chart({
    name: "apply-to-running",
    title: "From create to the script's first line",
    x: { label: "milliseconds", logarithmic: true },
    y: { label: "share of apps" },
    lines: [
      { name: "agent", points: distribution(watched.ours) },
      { name: "10 s poller", points: distribution(polled) },
      { name: "bare watch + sh", points: distribution(watched.bare) },
    ],
  });
  const row = (what: string, share: number, asked: number, note?: string): Figure => ({
    figure: `apply → running, ${what}`,
    ours: percentile(watched.ours, share),
    unit: "ms",
    asked,
    peer: { what: "10 s poller", value: percentile(polled, share) },
    limit: { what: "bare watch + sh", value: percentile(watched.bare, share) },
    note,
  });
  return [
    row(
      "median",
      0.5,
      60,
      `the moment is stamped by \`date\`, whose start counts on all three sides; kubectl apply itself takes ${
        median(kubectl).toFixed(0)
      } ms until it ends (median of ${kubectlRuns}), most of it before its request`,
    ),
    row("p99", 0.99, 300),
  ];
}

/** Measures the agent and the bare watcher in turn, so that both see the same load of the machine. */
async function measureWatching(agentFlags: string[], setting: Setting, say: (text: string) => void) {
  const { client, lines } = setting;
  await using _agent = await startAgentProcess([...agentFlags, "--listen", "127.0.0.1:0"]);
  const stopping = new AbortController();
  const watching = watchBare(setting, stopping.signal);
  // If a measurement fails, its own error is the one to report.
  watching.catch(() => {});
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  say(`the agent and a bare watch: ${apps} apps each, in turn`);
  for (let at = -warmUps; at < apps; at++) {
    for (const [kind, node] of [["ours", nodeName], ["bare", "bare"]] as const) {
      const name = `${kind}-${at + warmUps}`;
      const start = now();
      await createApp(client, name, manifest(name, node, lines).spec);
      const ms = await lines.momentOf(name) - start;
      if (at >= 0) times[kind].push(ms);
      // The agent's report about this app must not delay the next.
      await pause(100);
    }
  }
  stopping.abort();
  await watching.catch(() => {});
  return times;
}

/** Starts each app that is bound to the node "bare" as soon as its watch event arrives. */
async function watchBare({ client, lines }: Setting, signal: AbortSignal): Promise<void> {
  const list = await client.request<{ metadata: { resourceVersion: string } }>({ path: ncappPath() });
  const query = { watch: "true", resourceVersion: list.metadata.resourceVersion };
  const stream = await client.stream({ path: ncappPath(), query, signal });
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    const whole = (text + decoder.decode(bytes, { stream: true })).split("\n");
    text = whole.pop()!;
    for (const line of whole) {
      const name = /"ADDED".*?"name":"(bare-\d+)"/.exec(line)?.[1];
      if (name) lines.startBare(name);
    }
  }
}

/** Creates apps at random moments, and polls every ten seconds. */
async function measurePolling({ client, lines }: Setting): Promise<number[]> {
  const known = new Set<string>();
  const poll = async () => {
    const { items } = await client.request<{ items: NCApp[] }>({ path: ncappPath() });
    for (const { metadata: { name }, spec } of items) {
      if (spec?.nodeName !== "polled" || known.has(name)) continue;
      known.add(name);
      lines.startBare(name);
    }
  };
  const timer = setInterval(() => void poll(), pollMs);
  try {
    return await Promise.all(Array.from({ length: apps }, async (_, at) => {
      await pause(Math.random() * pollMs * pollPeriods);
      const name = `polled-${at}`;
      const start = now();
      await createApp(client, name, manifest(name, "polled", lines).spec);
      return await lines.momentOf(name, 2 * pollMs) - start;
    }));
  } finally {
    clearInterval(timer);
  }
}

function manifest(name: string, node: string, lines: FirstLines) {
  const { shellFile } = lines;
  return {
    metadata: { name },
    spec: { shellFile, args: lines.argsFor(name), nodeName: node, terminationGracePeriodSeconds: 1 },
  };
}
