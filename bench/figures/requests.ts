/**
 * The requests of an idle node to the API server: 1,000 idle apps, requests counted by the agent itself.
 *
 * The calculated figure is the load of a large cluster on one API server: the measured requests of a node without its apps, times
 * the nodes, plus for each app the maximum of reports while its usage moves by less than a point, 12 an hour.
 */
import { setTimeout as pause } from "node:timers/promises";
import { startAgentProcess } from "../../test/agent-process.ts";
import { createApp } from "../../test/harness/create-app.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { type ClusterScene, inParallel, nodeName, withClusterScene } from "../cluster-scene.ts";
import { fetchText } from "../local-agent.ts";
import { createStartedFiles } from "../started-files.ts";

const apps = 1000;
/** After this time without an event, no more are expected. */
const silenceMs = 5000;
const paper = { nodes: 5000, appsPerNode: 30, refreshesPerHour: 12 };

export const requests: Benchmark = {
  name: "requests",
  about: `Requests of an agent with ${
    apps.toLocaleString("en")
  } idle apps to a real API server, in the steady state: 30 s; ten minutes with --long.`,
  needs: ["executable", "control-plane"],
  run: (context) => withClusterScene((scene) => measure(scene, context)),
};

async function measure({ client, agentFlags }: ClusterScene, { long, say }: Context): Promise<Figure[]> {
  await using files = await createStartedFiles();
  await using agent = await startAgentProcess(agentFlags);
  say(`creating ${apps} NCApps`);
  await inParallel(apps, 16, (at) => {
    const name = `app-${at}`;
    const spec = {
      shellFile: files.shellFile,
      args: [files.fileOf(name)],
      nodeName,
      terminationGracePeriodSeconds: 1,
    };
    return createApp(client, name, spec);
  });
  await files.waitForAll(apps);
  say("waiting until all events of the starts are told");
  await eventsAreTold(agent.url);
  const seconds = long ? 600 : 30;
  say(`counting for ${seconds} s`);
  const before = await countRequests(agent.url);
  await pause(seconds * 1000);
  const after = await countRequests(agent.url);
  const perApp = (after.apps - before.apps) / apps / seconds * 3600;
  const perNode = (after.node - before.node) / seconds;
  const { nodes, appsPerNode, refreshesPerHour } = paper;
  return [
    {
      figure: `status patches per app and hour, ${apps.toLocaleString("en")} idle apps`,
      ours: perApp,
      unit: "requests",
      asked: refreshesPerHour + 0.5,
      note: `${
        after.apps - before.apps
      } in ${seconds} s; usage that moved by less than a point goes out every five minutes, so at most ${refreshesPerHour} an hour`,
    },
    {
      figure: "requests per node and second beside those, all apps idle",
      ours: perNode,
      unit: "requests/s",
      note: `in ${seconds} s: ${describeChange(before.kinds, after.kinds)}`,
    },
    {
      figure: `${nodes.toLocaleString("en")} nodes x ${appsPerNode} apps on one API server, on paper`,
      ours: nodes * perNode + nodes * appsPerNode * refreshesPerHour / 3600,
      unit: "requests/s",
      note: `${(nodes * perNode).toFixed(0)} for the nodes by the measured rate, ${
        (nodes * appsPerNode * refreshesPerHour / 3600).toFixed(0)
      } for the apps at ${refreshesPerHour} an hour each`,
    },
  ];
}

async function eventsAreTold(url: string): Promise<void> {
  for (let before = -1, now = 0; now !== before;) {
    before = now;
    await pause(silenceMs);
    const { kinds } = await countRequests(url);
    now = (kinds.get("create events") ?? 0) + (kinds.get("patch events") ?? 0);
  }
}

interface Counted {
  /** Reports of apps. */
  apps: number;
  /** All other requests. */
  node: number;
  /** All other requests, by verb and resource. */
  kinds: Map<string, number>;
}

/** Returns the requests that the agent has sent so far, from its metrics. */
async function countRequests(url: string): Promise<Counted> {
  const { text } = await fetchText(`${url}/metrics`);
  const counted: Counted = { apps: 0, node: 0, kinds: new Map() };
  for (const [, labels = "", value] of text.matchAll(/^nckubelet_api_requests_total\{([^}]*)\} (\d+)/gm)) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const kind = `${label("verb")} ${label("resource")}`;
    if (kind.startsWith("patch ncapps")) {
      counted.apps += Number(value);
    } else {
      counted.node += Number(value);
      counted.kinds.set(kind, (counted.kinds.get(kind) ?? 0) + Number(value));
    }
  }
  return counted;
}

function describeChange(before: Map<string, number>, after: Map<string, number>): string {
  const changes = [...after].map(([kind, count]) => ({ kind, count: count - (before.get(kind) ?? 0) }));
  return changes.filter(({ count }) => count > 0).sort((one, other) => other.count - one.count)
    .map(({ kind, count }) => `${count} ${kind}`).join(", ") || "none";
}
