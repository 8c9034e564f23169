/**
 * The probe mechanisms. `probeActions` in `api/schema/probe.ts` is the list. This table has the facts that the rest of the program needs,
 * and `supervisor/probes/perform-probe.ts` has the functions that perform them. A mechanism missing from either table does not
 * compile.
 */
import type { probeActions } from "./schema/schema.ts";
import type { DefaultedProbe, Probe } from "./types.ts";

/** The fields of the spec that hold a probe. */
export const probeNames = ["livenessProbe", "readinessProbe", "startupProbe"] as const;

/** The field of a probe that selects the mechanism. */
export type Mechanism = keyof typeof probeActions;
/** The settings of a mechanism in a probe. */
export type ActionOf<M extends Mechanism> = NonNullable<Probe[M]>;
export type DefaultedActionOf<M extends Mechanism> = NonNullable<DefaultedProbe[M]>;

export type PortMechanism = {
  [M in Mechanism]: ActionOf<M> extends { port: unknown } ? M : never;
}[Mechanism];

export interface MechanismFacts<M extends Mechanism> {
  /** Describes the probe, such as `GET http://127.0.0.1:8080/health`. */
  describe(action: ActionOf<M>): string;
  /** Whether the action has a port, which may be the name of one of `spec.ports`. */
  usesPort: M extends PortMechanism ? true : false;
}

/** The host to probe if the action names none: the node itself. */
export const defaultProbeHost = "127.0.0.1";

export const probeMechanisms: { readonly [M in Mechanism]: MechanismFacts<M> } = {
  exec: {
    describe: ({ command }) => `run ${command.join(" ")}`,
    usesPort: false,
  },
  httpGet: {
    describe: ({ scheme = "HTTP", host, port, path = "/" }) =>
      `GET ${scheme.toLowerCase()}://${host || defaultProbeHost}:${port}${path}`,
    usesPort: true,
  },
  tcpSocket: {
    describe: ({ host, port }) => `connect to ${host || defaultProbeHost}:${port}`,
    usesPort: true,
  },
};

/** All mechanisms, in the order of the schema. */
export const mechanisms = Object.keys(probeMechanisms) as Mechanism[];

export const portMechanisms = mechanisms.filter((mechanism): mechanism is PortMechanism =>
  probeMechanisms[mechanism].usesPort
);

/** Returns the mechanism of a probe; undefined if this version knows none of its fields. */
export function mechanismOf(probe: Probe): Mechanism | undefined {
  return mechanisms.find((mechanism) => probe[mechanism] !== undefined);
}

export function describeMechanism(probe: Probe): string {
  const mechanism = mechanismOf(probe);
  return mechanism ? describeAs(mechanism, probe[mechanism]!) : "unknown mechanism";
}

function describeAs<M extends Mechanism>(mechanism: M, action: ActionOf<M>): string {
  return probeMechanisms[mechanism].describe(action);
}
