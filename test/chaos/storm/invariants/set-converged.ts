import type { FleetEvidence, Invariant } from "../evidence.ts";

/** The set has one app with the newest version on each node, and its status says so. */
export const setConverged: Invariant = {
  name: "a rolled set converges",
  judge: ({ fleet }) => fleet ? complain(fleet) : [],
};

function complain({ set, version, nodes, live }: FleetEvidence): string[] {
  const complaints = nodes.flatMap((node) => {
    const processes = live.filter(({ name }) => name === `${set.metadata.name}-${node}`);
    const versions = new Set(processes.map((process) => process.version));
    const runs = new Set(processes.map(({ run }) => run));
    if (runs.size === 1 && versions.size === 1 && versions.has(version)) return [];
    const found = `${runs.size} runs with version ${[...versions].join(", ") || "-"}`;
    return [`on ${node} the set has ${found}, and should have one with version ${version}`];
  });
  const { observedGeneration = 0, desired, updated, available } = set.status ?? {};
  const isSeen = observedGeneration >= (set.metadata.generation ?? 1);
  const isDone = [desired, updated, available].every((count) => count === nodes.length);
  const counts = `desired ${desired}, updated ${updated}, available ${available}`;
  return isSeen && isDone ? complaints : [...complaints, `the status of the set: ${counts}`];
}
