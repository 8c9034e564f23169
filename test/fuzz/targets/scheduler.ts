/** Input of the scheduler: amounts, the figures that agents publish, rules of namespaces. */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import type { NCApp } from "../../../src/api/types.ts";
import type { Lease } from "../../../src/kube/lease.ts";
import type { Wire } from "../../../src/kube/wire.ts";
import { parsePublished, publish } from "../../../src/node/published.ts";
import { readApp } from "../../../src/scheduler/state/state.ts";
import { readLimitRange } from "../../../src/scheduler/namespaces/limit-range.ts";
import { readNode } from "../../../src/api/placement/placement.ts";
import { readReport } from "../../../src/scheduler/state/read-node.ts";
import { formatQuantity, parseQuantity } from "../../../src/scheduler/points.ts";
import { readPriorityClass } from "../../../src/scheduler/state/priority.ts";
import { readQuota } from "../../../src/scheduler/namespaces/quota.ts";
import { isLater } from "../../../src/kube/resource-version.ts";
import { goodSpecs } from "../../api/samples.ts";
import { applyDefaults, validateNCApp } from "../../../src/api/validate/validate.ts";
import { holds, type Target } from "../engine.ts";
import { jsonOf, textOf } from "./decode.ts";

const quantity: Target = {
  name: "quantity",
  covers: ["parseQuantity", "formatQuantity", "isLater"],
  samples: ["12500m", "12.5", "100", "1e2", "5k", "2Ki", ".5", "3e-1", "7n"],
  tokens: ["m", "e", "Ki", "constructor", "valueOf", "u", "."],
  maxBytes: 4096,
  open: () => ({
    run(input) {
      const text = textOf(input);
      isLater(text, "5");
      const points = parseQuantity(text);
      if (points === undefined) return;
      holds(!Number.isNaN(points) && points >= 0, `${points} points`);
      if (points < 1e9) {
        holds(parseQuantity(formatQuantity(points)) === points, `${points} points do not read back`);
      }
    },
  }),
};

const shares = { cpuPCT: 12.5, memPCT: 30 };
const published = publish({
  used: shares,
  free: shares,
  reserved: shares,
  pressure: ["memory"],
  version: "1.0",
});

const leases: Target = {
  name: "published",
  covers: ["parsePublished", "readReport"],
  samples: [JSON.stringify(published), JSON.stringify({ ...published, "app.example.com/pressure": "" })],
  open: () => ({
    run(input) {
      const annotations = jsonOf(input);
      // The API server has no annotations that are not text.
      if (typeof annotations !== "object" || annotations === null) return;
      if (Object.values(annotations).some((value) => typeof value !== "string")) return;
      const report = readReport({ metadata: { annotations } } as unknown as Lease, 0);
      const read = parsePublished(annotations as Record<string, string>);
      for (const { cpuPCT, memPCT } of read ? [read.used, read.free, read.reserved] : []) {
        holds(
          cpuPCT >= 0 && cpuPCT <= 100 && memPCT >= 0 && memPCT <= 100,
          `shares of ${cpuPCT} and ${memPCT}`,
        );
      }
      holds((report === undefined) === (read === undefined), "a report is there and is not");
    },
  }),
};

const limits = { "app.example.com/cpuPCT": "20", "app.example.com/memPCT": "12500m" };
const objects: Target = {
  name: "scheduler-objects",
  covers: ["readNode", "readLimitRange", "readQuota", "readPriorityClass"],
  samples: [
    JSON.stringify({
      node: { metadata: { labels: { a: "b" } }, spec: { taints: [{ key: "k", effect: "NoExecute" }] } },
    }),
    JSON.stringify({
      range: { metadata: { name: "r" }, spec: { limits: [{ type: "app.example.com/NCApp", max: limits }] } },
    }),
    JSON.stringify({
      quota: { metadata: { name: "q" }, spec: { hard: { "app.example.com/cpuPCT": "50" } } },
    }),
    JSON.stringify({ priority: { metadata: { name: "p" }, value: 5, globalDefault: true } }),
  ],
  tokens: ["constructor", "12m", "-1"],
  open: () => ({
    run(input) {
      // An API server enforces the schema of these kinds: only their strings are arbitrary.
      const read = jsonOf(input) as Record<string, never> | null;
      if (!isShaped(read)) return;
      if (read?.node) readNode(read.node as Wire<V1Node>, [], 0);
      if (read?.range) readLimitRange(read.range as Wire<V1LimitRange>).forEach(({ max }) => noNaN(max));
      if (read?.quota) noNaN(readQuota(read.quota as Wire<V1ResourceQuota>)?.hard ?? {});
      if (read?.priority) readPriorityClass(read.priority as Wire<V1PriorityClass>);
    },
  }),
};

const apps: Target = {
  name: "scheduler-apps",
  covers: ["readApp"],
  samples: goodSpecs.map((spec) =>
    JSON.stringify({ metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1" }, spec })
  ),
  treesOnly: true,
  open: () => ({
    run(input) {
      const app = { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", ...jsonOf(input) as object };
      // An older CRD may have stored what a newer rule refuses; types were always enforced.
      const mistyped = validateNCApp(app).some(({ reason }) => /Type|Required/.test(reason));
      if (mistyped) return;
      // A server never returns nulls.
      const { cpu, mem, graceMs } = readApp({ ...app as NCApp, spec: applyDefaults((app as NCApp).spec) });
      noNaN({ cpu, mem, graceMs });
    },
  }),
};

export const schedulerTargets: readonly Target[] = [quantity, leases, objects, apps];

function noNaN(values: object): void {
  for (const value of Object.values(values)) holds(!Number.isNaN(value), "an amount is NaN");
}

/** Lists are lists, maps are maps, and amounts are text. */
function isShaped(value: unknown, name = ""): boolean {
  if (["taints", "limits", "conditions"].includes(name)) {
    return Array.isArray(value) && value.every((item) => isMap(item) && isShaped(item));
  }
  if (["hard", "max", "min", "default", "labels"].includes(name)) {
    return isMap(value) && Object.values(value).every((amount) => typeof amount === "string");
  }
  if (name === "" || ["node", "range", "quota", "priority", "metadata", "spec", "status"].includes(name)) {
    return isMap(value) && Object.entries(value).every(([field, part]) => isShaped(part, field || "other"));
  }
  return true;
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
