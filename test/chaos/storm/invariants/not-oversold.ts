import type { NCApp } from "../../../../src/api/types.ts";
import type { Invariant } from "../evidence.ts";

/** No node has assigned a port twice, or more than all of its CPU or memory. */
export const notOversold: Invariant = {
  name: "no port or share oversold",
  judge: ({ objects }) => {
    const bound = objects.filter(({ spec, status }) =>
      spec.nodeName && status?.phase !== "Succeeded" && status?.phase !== "Failed"
    );
    return [...Map.groupBy(bound, ({ spec }) => spec.nodeName ?? "")].flatMap(([node, apps]) => [
      ...sharedPorts(node, apps),
      ...(["cpuPCT", "memPCT"] as const).flatMap((share) => overfull(node, apps, share)),
    ]);
  },
};

function sharedPorts(node: string, apps: NCApp[]): string[] {
  const claims = apps.flatMap(({ metadata, spec }) =>
    (spec.ports ?? []).map(({ port, protocol = "TCP" }) => ({
      name: metadata.name,
      port: `${protocol} ${port}`,
    }))
  );
  return [...Map.groupBy(claims, ({ port }) => port)].filter(([, group]) => group.length > 1)
    .map(([port, group]) => `${node} gave port ${port} to ${group.map(({ name }) => name).join(", ")}`);
}

function overfull(node: string, apps: NCApp[], share: "cpuPCT" | "memPCT"): string[] {
  const sum = apps.reduce((sum, { spec }) => sum + (parseFloat(String(spec[share] ?? "")) || 0), 0);
  return sum > 100 ? [`${node} has given ${sum} of 100 points of ${share}`] : [];
}
