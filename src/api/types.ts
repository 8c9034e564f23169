/** The types of NCApp, derived from its schema. None is written by hand. */
import type {
  affinity,
  condition,
  envVar,
  envVarSource,
  execAction,
  FromSchema,
  httpGetAction,
  lastExit,
  metadata,
  ncapp,
  nodeSelectorTerm,
  port,
  probe,
  spec,
  status,
  tcpSocketAction,
  toleration,
} from "./schema/schema.ts";

/** An NCApp as people write it and as the API server returns it. */
export type NCApp = FromSchema<typeof ncapp>;
/** What to run. */
export type NCAppSpec = FromSchema<typeof spec>;
/** What to run, with every default filled in. */
export type DefaultedSpec = FromSchema<typeof spec, "defaulted">;
/** What the agent saw. */
export type NCAppStatus = FromSchema<typeof status>;
/** Name, namespace, uid and so on. */
export type ObjectMeta = FromSchema<typeof metadata>;

/** The state in one word. */
export type Phase = NonNullable<NCAppStatus["phase"]>;
/** How the last run ended. */
export type LastExit = FromSchema<typeof lastExit>;
/** One of `status.conditions`. */
export type Condition = FromSchema<typeof condition>;

/** A variable of the environment. */
export type EnvVar = FromSchema<typeof envVar>;
/** Where its value comes from. */
export type EnvVarSource = FromSchema<typeof envVarSource>;

/** A probe as people write it. */
export type Probe = FromSchema<ReturnType<typeof probe>>;
/** A probe with every default filled in. */
export type DefaultedProbe = FromSchema<ReturnType<typeof probe>, "defaulted">;
/** A command. */
export type ExecAction = FromSchema<typeof execAction>;
/** A GET request. */
export type HTTPGetAction = FromSchema<typeof httpGetAction>;
/** A TCP connection. */
export type TCPSocketAction = FromSchema<typeof tcpSocketAction>;

/** A port of the host. */
export type Port = FromSchema<typeof port>;
/** A taint that the app bears. */
export type Toleration = FromSchema<typeof toleration>;
/** Rules about where the app runs. */
export type Affinity = FromSchema<typeof affinity>;
/** Requirements on a node that must all hold. */
export type NodeSelectorTerm = FromSchema<typeof nodeSelectorTerm>;
/** What a label of a node must be. */
export type NodeSelectorRequirement = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];
