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
export type NCAppSpec = FromSchema<typeof spec>;
export type DefaultedSpec = FromSchema<typeof spec, "defaulted">;
export type NCAppStatus = FromSchema<typeof status>;
export type ObjectMeta = FromSchema<typeof metadata>;

export type Phase = NonNullable<NCAppStatus["phase"]>;
export type LastExit = FromSchema<typeof lastExit>;
export type Condition = FromSchema<typeof condition>;

export type EnvVar = FromSchema<typeof envVar>;
export type EnvVarSource = FromSchema<typeof envVarSource>;

export type Probe = FromSchema<ReturnType<typeof probe>>;
export type DefaultedProbe = FromSchema<ReturnType<typeof probe>, "defaulted">;

export type Port = FromSchema<typeof port>;
export type Toleration = FromSchema<typeof toleration>;
export type Affinity = FromSchema<typeof affinity>;
export type NodeSelectorTerm = FromSchema<typeof nodeSelectorTerm>;
export type NodeSelectorRequirement = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];
