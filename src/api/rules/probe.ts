import { mechanisms, portMechanisms, probeNames } from "../probe-mechanisms.ts";
import type { NCAppSpec } from "../types.ts";
import { exactlyOneOf, type Rule } from "./rule.ts";

const portUsers = probeNames.flatMap((probe) => portMechanisms.map((mechanism) => ({ probe, mechanism })));

export const probeRules: readonly Rule[] = [
  ...probeNames.map((name) => exactlyOneOf(`spec.${name}`, mechanisms)),
  ...portUsers.map(({ probe, mechanism }): Rule => ({
    at: "spec",
    blames: `${probe}.${mechanism}.port`,
    message: "must be a number or the name of one of spec.ports",
    cel:
      `!has(self.${probe}) || !has(self.${probe}.${mechanism}) || type(self.${probe}.${mechanism}.port) == int || ` +
      `(has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.${probe}.${mechanism}.port))`,
    holds: (self: NCAppSpec) => {
      const port = self[probe]?.[mechanism]?.port;
      return typeof port !== "string" || (self.ports ?? []).some(({ name }) => name === port);
    },
  })),
];
