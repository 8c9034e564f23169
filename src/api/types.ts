/** The types of NCApp, all derived from its schema. */
import type {
  affinity,
  condition,
  envVar,
  envVarSource,
  FromSchema,
  lastExit,
  metadata,
  ncapp,
  nodeSelectorTerm,
  port,
  probe,
  spec,
  status,
  toleration,
} from "./schema/schema.ts";

/** An NCApp as users write it and as the API server returns it. */
export type NCApp = FromSchema<typeof ncapp>;
/** The spec of an NCApp. */
export type NCAppSpec = FromSchema<typeof spec>;
/** A spec with every default filled in. */
export type DefaultedSpec = FromSchema<typeof spec, "defaulted">;
/** The status of an NCApp. */
export type NCAppStatus = FromSchema<typeof status>;
/** Name, namespace, uid and so on. */
export type ObjectMeta = FromSchema<typeof metadata>;

/** The state in one word. */
export type Phase = NonNullable<NCAppStatus["phase"]>;
/** How the last run ended. */
export type LastExit = FromSchema<typeof lastExit>;
/** One of `status.conditions`. */
export type Condition = FromSchema<typeof condition>;

/** An environment variable. */
export type EnvVar = FromSchema<typeof envVar>;
/** The source of a variable's value. */
export type EnvVarSource = FromSchema<typeof envVarSource>;

/** A probe as users write it. */
export type Probe = FromSchema<ReturnType<typeof probe>>;
/** A probe with every default filled in. */
export type DefaultedProbe = FromSchema<ReturnType<typeof probe>, "defaulted">;

/** A host port. */
export type Port = FromSchema<typeof port>;
/** A taint that the app tolerates. */
export type Toleration = FromSchema<typeof toleration>;
/** Rules about where the app runs. */
export type Affinity = FromSchema<typeof affinity>;
/** Requirements that a node must meet, all of them. */
export type NodeSelectorTerm = FromSchema<typeof nodeSelectorTerm>;
/** A requirement on a node label. */
export type NodeSelectorRequirement = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];
