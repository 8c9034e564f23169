/** The types of NCApp and NCAppSet, all derived from their schemas. */
import type {
  affinity,
  appAffinityTerm,
  condition,
  envVar,
  FromSchema,
  lastExit,
  metadata,
  ncapp,
  ncappset,
  nodeSelectorTerm,
  port,
  probe,
  setSpec,
  setStatus,
  spec,
  status,
  template,
  toleration,
  topologySpreadConstraint,
} from "./schema/schema.ts";

/** An NCApp as users write it and as the API server returns it. */
export type NCApp = FromSchema<typeof ncapp>;
export type NCAppSpec = FromSchema<typeof spec>;
export type DefaultedSpec = FromSchema<typeof spec, "defaulted">;
export type NCAppStatus = FromSchema<typeof status>;
export type ObjectMeta = FromSchema<typeof metadata>;

/** An NCAppSet as users write it and as the API server returns it. */
export type NCAppSet = FromSchema<typeof ncappset> & { metadata: ObjectMeta };
export type NCAppSetSpec = FromSchema<typeof setSpec>;
export type NCAppSetStatus = FromSchema<typeof setStatus>;
export type AppTemplate = FromSchema<typeof template>;

export type Phase = NonNullable<NCAppStatus["phase"]>;
export type LastExit = FromSchema<typeof lastExit>;
export type Condition = FromSchema<typeof condition>;

export type EnvVar = FromSchema<typeof envVar>;

export type Probe = FromSchema<ReturnType<typeof probe>>;
export type DefaultedProbe = FromSchema<ReturnType<typeof probe>, "defaulted">;

export type Port = FromSchema<typeof port>;
export type Toleration = FromSchema<typeof toleration>;
export type Affinity = FromSchema<typeof affinity>;
export type AppAffinityTerm = FromSchema<typeof appAffinityTerm>;
export type TopologySpreadConstraint = FromSchema<typeof topologySpreadConstraint>;
export type NodeSelectorTerm = FromSchema<typeof nodeSelectorTerm>;
export type NodeSelectorRequirement = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];
