import type { NCAppSpec } from "../../../../src/api/types.ts";
import type { Evidence, Invariant } from "../evidence.ts";
import { kinds } from "../kinds.ts";

interface Claim {
  node: string;
  name: string;
  spec: Pick<NCAppSpec, "ports" | "cpuPCT" | "memPCT">;
}

/** No node has promised a port twice, or more than all of its CPU or memory, and no living processes hold more than that. */
export const notOversold: Invariant = {
  name: "no port or share oversold",
  judge: (evidence) => [...judgeClaims(promised(evidence)), ...judgeClaims(held(evidence))],
};

function promised({ objects }: Evidence): Claim[] {
  return objects.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
    .flatMap(({ metadata, spec }) =>
      spec.nodeName ? [{ node: spec.nodeName, name: metadata.name, spec }] : []
    );
}

/** What processes hold, whether or not their objects exist. */
function held({ live, apps, past }: Evidence): Claim[] {
  const known = new Map([...past, ...apps].map((app) => [app.uid, app]));
  const perApp = new Map(live.map((process) => [`${process.node} ${process.uid}`, process]));
  return [...perApp.values()].flatMap(({ uid, node, name }) => {
    const app = known.get(uid);
    if (!app) return [];
    const { spec } = kinds[app.kind];
    return [{ node, name: `${name} (${uid})`, spec: { ...spec, cpuPCT: app.cpuPCT ?? spec.cpuPCT } }];
  });
}

function judgeClaims(claims: Claim[]): string[] {
  return [...Map.groupBy(claims, ({ node }) => node)].flatMap(([node, apps]) => [
    ...sharedPorts(node, apps),
    ...(["cpuPCT", "memPCT"] as const).flatMap((share) => overfull(node, apps, share)),
  ]);
}

function sharedPorts(node: string, apps: Claim[]): string[] {
  const claims = apps.flatMap(({ name, spec }) =>
    (spec.ports ?? []).map(({ port, protocol = "TCP" }) => ({
      name,
      port: `${protocol} ${port}`,
    }))
  );
  return [...Map.groupBy(claims, ({ port }) => port)].filter(([, group]) => group.length > 1)
    .map(([port, group]) => `${node} gave port ${port} to ${group.map(({ name }) => name).join(", ")}`);
}

function overfull(node: string, apps: Claim[], share: "cpuPCT" | "memPCT"): string[] {
  const sum = apps.reduce((sum, { spec }) => sum + (parseFloat(String(spec[share] ?? "")) || 0), 0);
  return sum > 100 ? [`${node} has given ${sum} of 100 points of ${share}`] : [];
}
