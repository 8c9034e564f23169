/**
 * The status of an app's Pod, as a kubelet would report a container with the same history. Pure.
 *
 * Phases that Pods lack: an app that waits for its restart is `Running` with a waiting container, as a Pod in CrashLoopBackOff; one
 * that stops is `Running`, not ready, with the reason Stopping. An app that waits for its schedule is `Pending`, also after a run.
 */
import { hash } from "node:crypto";
import { constants } from "node:os";
import type {
  V1ContainerState,
  V1ContainerStatus,
  V1PodCondition,
  V1PodStatus,
} from "@kubernetes/client-node";
import { withTransitionTime } from "../../api/conditions.ts";
import { podContainer } from "../../api/names.ts";
import type { LastExit, NCAppStatus } from "../../api/types.ts";
import type { Wire } from "../../kube/wire.ts";
import { isoSeconds } from "../../lib/time.ts";
import { podAmounts, podImage, type PodNode, type ShownApp } from "./pod-object.ts";

export type PodStatus = Wire<V1PodStatus>;
type Condition = Wire<V1PodCondition>;
type ContainerState = Wire<V1ContainerState>;
type ContainerStatus = Wire<V1ContainerStatus>;

/** What stays of the status that the Pod has. */
export interface PodTimes {
  startTime?: string;
  conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[];
}

/** As long as a kubelet lets it be. */
const maxMessage = 4096;
/** What a kubelet reports for a container whose exit code it does not know. */
const unknownExitCode = 137;

export function podStatus(
  { app, status, started }: Pick<ShownApp, "app" | "status" | "started">,
  { addresses, size }: Pick<PodNode, "addresses" | "size">,
  before: PodTimes,
  now: number,
): PodStatus {
  const phase = podPhase(status);
  const ready = status.ready === true;
  const [address] = addresses;
  return {
    phase,
    ...(status.phase === "Stopping" ? { reason: "Stopping", message: shown(stopMessage(status)) } : {}),
    ...(address ? { hostIP: address, podIP: address, podIPs: addresses.map((ip) => ({ ip })) } : {}),
    startTime: before.startTime ?? isoSeconds(now),
    qosClass: qosClassOf(podAmounts(app.spec, size)),
    conditions: conditionsOf(phase, status, before.conditions, now),
    containerStatuses: [containerStatus(status, { ready, started, schedule: app.spec.schedule })],
  };
}

/** As the API server computes it: the limits are the requests. */
function qosClassOf(amounts: ReturnType<typeof podAmounts>): string {
  if (!amounts) return "BestEffort";
  return amounts.cpu && amounts.memory ? "Guaranteed" : "Burstable";
}

/** Returns `status.phase` of the Pod. A Pod never leaves Succeeded and Failed. */
export function podPhase({ phase = "Pending", lastExit }: NCAppStatus): string {
  if (phase === "Starting") return lastExit ? "Running" : "Pending";
  if (phase === "Stopped") return "Pending";
  return phase === "BackOff" || phase === "Stopping" ? "Running" : phase;
}

export function isTerminal(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/**
 * Returns a digest that is equal for equal states, however the server writes them; without the times that a Pod keeps while its state
 * stays, and without what other clients add.
 */
export function stateOf({ phase, reason, message, hostIP, podIP, startTime, ...lists }: PodStatus): string {
  const container = lists.containerStatuses?.find(({ name }) => name === podContainer);
  const conditions = conditionTypes.map((type) => {
    const { status, reason, message } = lists.conditions?.find((condition) => condition.type === type) ?? {};
    return [status, reason, message];
  });
  const { ready, started, restartCount, state, lastState } = container ?? {};
  const parts = [phase, reason, message, hostIP, podIP, startTime !== undefined, conditions];
  const all = [...parts, ready, started, restartCount, partsOf(state), partsOf(lastState)];
  return hash("sha256", JSON.stringify(all), "base64url").slice(0, 22);
}

const conditionTypes = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];

function conditionsOf(
  phase: string,
  { ready = false, conditions = [] }: NCAppStatus,
  before: PodTimes["conditions"],
  now: number,
): Condition[] {
  const unready = phase === "Succeeded"
    ? { reason: "PodCompleted" }
    : phase === "Failed"
    ? { reason: "PodFailed" }
    : { reason: "ContainersNotReady", message: `containers with unready status: [${podContainer}]` };
  const changed = conditions.find(({ type }) => type === "Ready")?.lastTransitionTime;
  return conditionTypes.map((type) => {
    const isAboutReady = type === "Ready" || type === "ContainersReady";
    const condition: Condition = isAboutReady && !ready
      ? { type, status: "False", ...unready }
      : { type, status: "True" };
    return withTransitionTime(condition, before, (isAboutReady ? changed : undefined) ?? isoSeconds(now));
  });
}

function containerStatus(
  status: NCAppStatus,
  { ready, started, schedule }: { ready: boolean; started: boolean; schedule?: string },
): ContainerStatus {
  const { lastExit, restarts = 0 } = status;
  const state = containerState(status, schedule);
  return {
    name: podContainer,
    image: podImage,
    imageID: "",
    ready,
    started,
    restartCount: restarts,
    state,
    lastState: lastExit && !state.terminated ? { terminated: terminated(lastExit) } : {},
  };
}

function containerState(status: NCAppStatus, schedule: string | undefined): ContainerState {
  const { phase = "Pending", reason, message = "", startTime, lastExit, nextRun } = status;
  if (isTerminal(phase)) return { terminated: terminated(lastExit ?? { code: phase === "Failed" ? 1 : 0 }) };
  if (startTime && (phase === "Running" || phase === "Stopping")) {
    return { running: { startedAt: startTime } };
  }
  if (phase === "BackOff") return waiting("CrashLoopBackOff", message);
  if (schedule && !reason) {
    return waiting("Scheduled", nextRun ? `the next run is due at ${nextRun}` : message);
  }
  return waiting(reason || phase, message);
}

function waiting(reason: string, message: string): ContainerState {
  return { waiting: { reason, ...(message ? { message: shown(message) } : {}) } };
}

function terminated(
  { code = unknownExitCode, signal, reason, message, startedAt, finishedAt }: LastExit,
): NonNullable<ContainerState["terminated"]> {
  const number = constants.signals[signal as NodeJS.Signals];
  return {
    exitCode: code,
    ...(number ? { signal: number } : {}),
    ...(reason ? { reason } : {}),
    ...(message ? { message: shown(message) } : {}),
    ...(startedAt ? { startedAt } : {}),
    ...(finishedAt ? { finishedAt } : {}),
  };
}

function stopMessage({ reason, message }: NCAppStatus): string {
  return [reason, message].filter(Boolean).join(": ");
}

/** Cut, and as the server stores it: half a character would come back as another one, and look like a change. */
function shown(text: string): string {
  return text.slice(0, maxMessage).toWellFormed();
}

function partsOf({ waiting, running, terminated }: ContainerState = {}): unknown[] {
  if (waiting) return ["waiting", waiting.reason, waiting.message];
  if (running) return ["running", running.startedAt];
  if (!terminated) return [];
  const { exitCode, signal, reason, message, startedAt, finishedAt } = terminated;
  return ["terminated", exitCode, signal, reason, message, startedAt, finishedAt];
}

/**
 * A strategic merge patch to this status. It merges conditions field by field, so what one has lost is null. The server decides
 * the QoS class, and lets nobody change it.
 */
export function statusPatch(
  { qosClass: _, podIPs, conditions = [], reason, message, ...rest }: PodStatus,
): object {
  const said = (fields: { reason?: string; message?: string }) => ({
    reason: fields.reason ?? null,
    message: fields.message ?? null,
  });
  return {
    ...rest,
    ...said({ reason, message }),
    ...(podIPs ? { podIPs: [{ $patch: "replace" }, ...podIPs] } : {}),
    conditions: conditions.map((condition) => ({ ...condition, ...said(condition) })),
  };
}
