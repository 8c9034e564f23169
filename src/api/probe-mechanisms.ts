/**
 * The ways to probe an app. `probeActions` in the schema is the list; this table says what else the program needs to know of
 * each, and the supervisor has a table that performs them. A mechanism that is missing from either does not compile.
 */
import type { probeActions } from "./schema/schema.ts";
import type { DefaultedProbe, Probe } from "./types.ts";

/** The field of a probe that selects the mechanism. */
export type Mechanism = keyof typeof probeActions;
/** What a probe says about its mechanism. */
export type ActionOf<M extends Mechanism> = NonNullable<Probe[M]>;
export type DefaultedActionOf<M extends Mechanism> = NonNullable<DefaultedProbe[M]>;

/** The mechanisms whose action has a port. */
export type PortMechanism = {
  [M in Mechanism]: ActionOf<M> extends { port: unknown } ? M : never;
}[Mechanism];

export interface MechanismFacts<M extends Mechanism> {
  /** Says in a few words what the probe does, such as `GET http://127.0.0.1:8080/health`. */
  describe(action: ActionOf<M>): string;
  /** Whether the action has a port, which may be the name of one of `spec.ports`. */
  usesPort: M extends PortMechanism ? true : false;
}

/** The host that is probed where the action names none: the node itself. */
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

/** The mechanism of a probe; undefined where the probe has none that this version knows. */
export function mechanismOf(probe: Probe): Mechanism | undefined {
  return mechanisms.find((mechanism) => probe[mechanism] !== undefined);
}

/** What a probe does, for the user to read. */
export function describeMechanism(probe: Probe): string {
  const mechanism = mechanismOf(probe);
  return mechanism
    ? describeAs(mechanism, probe[mechanism]!)
    : "probe in a way that this version does not know";
}

function describeAs<M extends Mechanism>(mechanism: M, action: ActionOf<M>): string {
  return probeMechanisms[mechanism].describe(action);
}
