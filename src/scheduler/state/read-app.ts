/** Reads NCApps. Pure. */
import { hash } from "node:crypto";
import type { Labels, LabelSelector } from "../../api/label-selector.ts";
import {
  annotations,
  defaultNamespace,
  defaultSchedulerName,
  keyOf,
  nameLabel,
  ownerSet,
} from "../../api/names.ts";
import { parsePercent } from "../../api/percent.ts";
import type { Phase } from "../../api/types.ts";
import { toPoints } from "../points.ts";
import {
  type AppSelector,
  type AppStatus,
  type Placement,
  portNumber,
  type SchedulerApp,
  type SpreadRules,
} from "../types.ts";
import type { SlimApp, SlimSpec } from "./slim-app.ts";

/** The priority is 0 until `withPriority` looks up the PriorityClass. */
export function readApp(app: SlimApp, schedulerName: string = defaultSchedulerName): SchedulerApp {
  const { metadata, spec, status = {} } = app;
  const { namespace = defaultNamespace, name, uid = "", resourceVersion = "", generation = 0 } = metadata;
  const { caps, problem } = readCaps(spec);
  const deleting = metadata.deletionTimestamp !== undefined;
  const released = deleting && isReleased(spec, status, generation);
  const mirror = metadata.annotations?.[annotations.mirror] !== undefined;
  return {
    key: keyOf(app),
    namespace,
    name,
    uid,
    resourceVersion,
    generation,
    nodeName: spec.nodeName || undefined,
    ours: (spec.schedulerName || defaultSchedulerName) === schedulerName,
    ...caps,
    ports: (spec.ports ?? []).map(portNumber),
    priorityClassName: spec.priorityClassName ?? "",
    priority: 0,
    preempts: true,
    missingClass: false,
    placement: readPlacement(spec),
    labels: shareLabels(metadata.labels ?? {}),
    spread: readSpread(spec, namespace),
    family: familyOf(app),
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    graceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1000,
    observed: isObserved(status, generation, mirror),
    finished: released || isFinished(spec, status, generation),
    mirror,
    deleting,
    // `Apps` replaces it with the time by this clock.
    deletedAt: Date.parse(metadata.deletionTimestamp ?? "") || 0,
    released,
    finalizers: metadata.finalizers ?? none,
    problem,
    status,
  };
}

const none: readonly string[] = [];

/** Mirrors, apps of other schedulers and apps that are being deleted must not be unbound. */
export function isMovable({ ours, mirror, deleting }: SchedulerApp): boolean {
  return ours && !mirror && !deleting;
}

function readCaps(spec: SlimSpec): { caps: { cpu: number; mem: number }; problem?: string } {
  try {
    const cpu = parsePercent(spec.cpuPCT);
    const mem = parsePercent(spec.memPCT);
    return { caps: { cpu: toPoints(cpu ?? 0), mem: toPoints(mem ?? 0) } };
  } catch (error) {
    return { caps: { cpu: 0, mem: 0 }, problem: `cpuPCT or memPCT: ${(error as Error).message}` };
  }
}

/**
 * Reports whether an app has ended and will not start again, like a completed Pod. An app with a schedule starts again, and so does an
 * app whose spec has changed: those count on their node.
 */
function isFinished(spec: SlimSpec, status: AppStatus, generation: number): boolean {
  const ended = status.phase === "Succeeded" || status.phase === "Failed";
  return ended && !spec.schedule && (status.observedGeneration ?? generation) >= generation;
}

/**
 * Reports whether no node holds an app that is being deleted. The agent that it is bound to must have seen the deletion, which is a new
 * generation: the empty name may be from the node before.
 */
function isReleased(
  spec: SlimSpec,
  { nodeName, observedGeneration = 0 }: AppStatus,
  generation: number,
): boolean {
  return nodeName === "" && (!spec.nodeName || observedGeneration >= generation);
}

/**
 * Reports whether the app's agent counts its caps. Of bound apps only agents write `observedGeneration`, and a bind is a new generation. A mirror is
 * written by the agent, and its generation is not that of its app. Agents do not count apps that have ended or cannot start.
 */
function isObserved(
  { phase, reason, observedGeneration }: AppStatus,
  generation: number,
  mirror: boolean,
): boolean {
  return (mirror || observedGeneration === generation) && phase !== undefined && !uncounted.has(phase) &&
    reason !== "InvalidSpec";
}

const uncounted: ReadonlySet<Phase> = new Set(["Succeeded", "Failed", "Unknown"]);

/** Reads the placement rules in a fixed order, so that equal rules have equal keys. */
function readPlacement({ nodeSelector = {}, affinity, tolerations = [] }: SlimSpec): Placement {
  const selector = Object.entries(nodeSelector).sort(([a], [b]) => a < b ? -1 : 1);
  const { nodeAffinity } = affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (selector.length + preferred.length + tolerations.length === 0 && !required) return anywhere;
  const key = keyOfRules([selector, required, preferred, tolerations]);
  return { key, nodeSelector: selector, required, preferred, tolerations };
}

const maxKeyLength = 256;

/** It is kept with the app and in caches, and may be a megabyte long. */
function keyOfRules(rules: unknown): string {
  const text = JSON.stringify(rules);
  return text.length > maxKeyLength ? hash("sha256", text) : text;
}
const anywhere: Placement = { key: "", nodeSelector: [], preferred: [], tolerations: [] };

function readSpread({ topologySpreadConstraints = [], affinity }: SlimSpec, namespace: string): SpreadRules {
  const { requiredDuringSchedulingIgnoredDuringExecution: required = [] } = affinity?.appAntiAffinity ?? {};
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity?.appAntiAffinity ?? {};
  if (topologySpreadConstraints.length + required.length + preferred.length === 0) return noSpread;
  const term = (given: { topologyKey: string; labelSelector: LabelSelector }) => ({
    topologyKey: given.topologyKey,
    selector: readSelector(given.labelSelector, namespace),
  });
  return {
    constraints: topologySpreadConstraints.map((constraint) => ({
      ...term(constraint),
      maxSkew: constraint.maxSkew,
      isHard: constraint.whenUnsatisfiable === "DoNotSchedule",
    })),
    avoids: required.map(term),
    dislikes: preferred.map(({ weight, appAffinityTerm }) => ({ weight, term: term(appAffinityTerm) })),
  };
}

const noSpread: SpreadRules = { constraints: [], avoids: [], dislikes: [] };

function readSelector(match: LabelSelector, namespace: string): AppSelector {
  const { matchLabels = {}, matchExpressions = [] } = match;
  const labels = Object.entries(matchLabels).sort(([a], [b]) => a < b ? -1 : 1);
  return { key: `${namespace} ${keyOfRules([labels, matchExpressions])}`, namespace, match };
}

/** The apps of a set stay a family when their labels change. */
function familyOf({ metadata }: SlimApp): string | undefined {
  const set = ownerSet({ metadata });
  if (set) return set.uid;
  const name = metadata.labels?.[nameLabel];
  return name ? `${metadata.namespace ?? defaultNamespace} ${name}` : undefined;
}

const maxShared = 10_000;
const shared = new Map<string, Labels>();

/** The apps of a set have the same labels: one object for all. */
function shareLabels(labels: Labels): Labels {
  const text = JSON.stringify(labels);
  const known = shared.get(text);
  if (known) return known;
  if (shared.size >= maxShared) shared.clear();
  shared.set(text, labels);
  return labels;
}
