import type { NCAppSpec, Probe } from "../types.ts";
import { exactlyOneOf, one, type Rule } from "./rule.ts";

const probeNames = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const portUsers = probeNames.flatMap((probe) => ([[probe, "httpGet"], [probe, "tcpSocket"]] as const));

/** Rules about probes. */
export const probeRules: readonly Rule[] = [
  ...probeNames.map((name): Rule => ({
    at: `spec.${name}`,
    message: "must have exactly one of exec, httpGet, tcpSocket",
    cel: exactlyOneOf("exec", "httpGet", "tcpSocket"),
    holds: (self: Probe) => one(self.exec, self.httpGet, self.tcpSocket),
  })),
  ...portUsers.map(([probe, action]): Rule => ({
    at: "spec",
    blames: `${probe}.${action}.port`,
    message: "must be a number or the name of one of spec.ports",
    cel:
      `!has(self.${probe}) || !has(self.${probe}.${action}) || type(self.${probe}.${action}.port) == int || ` +
      `(has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.${probe}.${action}.port))`,
    holds: (self: NCAppSpec) => {
      const wanted = self[probe]?.[action]?.port;
      return typeof wanted !== "string" || (self.ports ?? []).some(({ name }) => name === wanted);
    },
  })),
];
