import type { StormApp } from "../ledger.ts";
import type { Evidence, Invariant } from "../evidence.ts";
import type { Story } from "../witness.ts";

/**
 * How long after its request a stop may hit a run that started meanwhile: the API server may have been down, plus the settling
 * time.
 */
const reachSeconds = 60;

/**
 * A run that is over ended by itself, or its end was requested; and if the agent ended it, the agent's log says so. A line about
 * the start of the stop or about its end is enough: an agent that is killed in between writes only one of them.
 */
export const stoppedForAReason: Invariant = {
  name: "no app stopped without a reason",
  judge(evidence) {
    const alive = new Set(evidence.live.map(({ run }) => run));
    const known = new Map([...evidence.past, ...evidence.apps].map((app) => [app.uid, app]));
    return evidence.stories.filter(({ run }) => !alive.has(run)).flatMap((story) => {
      const app = known.get(story.uid);
      if (!app) return [`run ${story.run} of ${story.name} has the uid ${story.uid}, which nobody created`];
      return complain(story, app, evidence);
    });
  },
};

function complain(story: Story, app: StormApp, { nodes }: Evidence): string[] {
  if (story.end !== undefined) return [];
  if (!app.asks.some(({ at }) => story.began < at + reachSeconds)) {
    return [
      `run ${story.run} of ${story.name} on ${story.node} stopped${by(story)}, and nobody asked for it`,
    ];
  }
  const log = nodes.find(({ name }) => name === story.node)?.log ?? "";
  if (!story.termed || tellsOfStop(log, story.name)) return [];
  return [`run ${story.run} of ${story.name} was stopped, and the agent of ${story.node} does not say why`];
}

function tellsOfStop(log: string, name: string): boolean {
  return log.split("\n").some((line) =>
    line.includes(`app=default/${name} `) && /Stopping: |Ended with |removing a run/.test(line)
  );
}

function by({ termed }: Story): string {
  return termed ? " by SIGTERM" : "";
}
