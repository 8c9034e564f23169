/** The RBAC rules of the controllers: their roles grant them, and an agent checks them before it runs controllers. */
import { group, plural, setPlural } from "./names.ts";

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

const read = ["get", "list", "watch"];

/** By the name of the controller, in all namespaces. */
export const controllerRules = {
  scheduler: [
    { apiGroups: [group], resources: [plural], verbs: [...read, "patch"] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: read },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: read },
    { apiGroups: [""], resources: ["resourcequotas", "limitranges"], verbs: read },
    { apiGroups: [""], resources: ["resourcequotas/status"], verbs: ["patch"] },
  ],
  sets: [
    { apiGroups: [group], resources: [setPlural], verbs: read },
    { apiGroups: [group], resources: [`${setPlural}/status`], verbs: ["patch"] },
    // Some clusters require it of those who make an object the owner of others.
    { apiGroups: [group], resources: [`${setPlural}/finalizers`], verbs: ["update"] },
    { apiGroups: [group], resources: [plural], verbs: [...read, "create", "patch", "delete"] },
    {
      apiGroups: ["apps"],
      resources: ["controllerrevisions"],
      verbs: [...read, "create", "patch", "delete"],
    },
    { apiGroups: [""], resources: ["nodes"], verbs: read },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  ],
} satisfies Record<string, readonly Rule[]>;

/** In the namespace of the agents' Leases. */
export const nodeLeaseRules: readonly Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: read },
];
