import type { Invariant } from "../evidence.ts";

/** Nothing remains of apps that are no longer wanted: no process, no run, no folder, no cgroup. */
export const noLeaks: Invariant = {
  name: "no cgroup or process leaked",
  judge({ objects, live, nodes }) {
    const wanted = new Set(objects.map(({ metadata }) => metadata.uid));
    const stray = live.filter(({ uid }) => !wanted.has(uid)).map(({ pid, name, node }) =>
      `process ${pid} of ${name} lives on ${node}, but the app is gone`
    );
    const alive = new Set(live.map(({ run }) => run));
    const traces = nodes.flatMap(({ name: node, traces }) => {
      const here = new Set(
        objects.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name),
      );
      return traces.filter(({ app, run }) =>
        (app !== undefined && !here.has(app)) || (run !== undefined && !alive.has(run))
      ).map(({ where }) => `${node} has ${where} of an app or a run that is gone`);
    });
    return [...stray, ...traces];
  },
};
