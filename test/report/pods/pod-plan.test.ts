import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "../../../src/api/validate/validate.ts";
import type { NCApp, NCAppSpec, NCAppStatus } from "../../../src/api/types.ts";
import type { Identified } from "../../../src/kube/wire.ts";
import type { Pod, ShownApp } from "../../../src/report/pods/pods.ts";
import { newPod, otherPodName } from "../../../src/report/pods/pod-object.ts";
import {
  isMirrorPodOf,
  type KnownPod,
  ownerOf,
  planPod,
  readPod,
} from "../../../src/report/pods/pod-plan.ts";
import { podStatus } from "../../../src/report/pods/pod-status.ts";
import { ncapp } from "../../builders.ts";

const node = { name: "n1", addresses: ["192.0.2.1"], size: { cpus: 4, memoryBytes: 8_000_000_000 } };
const now = Date.parse("2030-01-01T10:00:00Z");
const running: NCAppStatus = { phase: "Running", startTime: "2030-01-01T09:00:00Z", ready: true };

const shown = (
  { spec = {}, status = running, metadata = {} }: {
    spec?: NCAppSpec;
    status?: NCAppStatus;
    metadata?: Partial<NCApp["metadata"]>;
  } = {},
): ShownApp => {
  const app = ncapp({ metadata: { labels: { app: "web" }, annotations: { team: "edge" }, ...metadata } });
  const { namespace, name, uid } = app.metadata;
  return {
    owner: { namespace, name, uid },
    app: { ...app, spec: applyDefaults(spec) },
    status,
    started: true,
  };
};

/** The Pod of an app as the server has it when everything is done. */
const podFor = (app: ShownApp, change: (pod: Identified<Pod>) => void = () => {}): KnownPod => {
  const pod = newPod(app, node, app.owner.name);
  const metadata = {
    ...pod.metadata,
    uid: "p1",
    resourceVersion: "5",
    creationTimestamp: "2030-01-01T09:00:00Z",
  };
  const stored = { ...pod, metadata, status: podStatus(app, node, {}, now) } as Identified<Pod>;
  change(stored);
  return readPod(stored);
};
const plan = (wanted: ShownApp | undefined, pods: KnownPod[], written?: string[]) => {
  const action = planPod(wanted, pods, { node, now, written });
  return action && `${action.kind}${action.kind === "create" ? "" : ` ${action.pod.uid}`}`;
};

test("planPod() creates the Pod of a new app, and does nothing when the server has it", () => {
  assert.equal(plan(shown(), []), "create");
  assert.equal(plan(shown(), [podFor(shown())]), undefined);
  assert.equal(plan(undefined, []), undefined);
});

test("planPod() does nothing for usage and variables", () => {
  const spec = { env: [{ name: "A", value: "b" }], args: ["x"] };
  assert.equal(
    plan(shown({ spec, status: { ...running, cpuPCT: "3.0", memoryBytes: 7 } }), [podFor(shown())]),
    undefined,
  );
});

const stopped: NCAppStatus = { phase: "Pending", reason: "Suspended" };
const done: NCAppStatus = { phase: "Succeeded", lastExit: { code: 0, reason: "Completed" } };
const replaced: [what: string, wanted: ShownApp | undefined, pod: KnownPod][] = [
  ["of an app that is gone", undefined, podFor(shown())],
  ["that a user deletes", shown(), podFor(shown(), ({ metadata }) => metadata.deletionTimestamp = "x")],
  ["of an earlier app of the same name", shown({ metadata: { uid: "other" } }), podFor(shown())],
  ["whose app has other ports", shown({ spec: { ports: [{ port: 80 }] } }), podFor(shown())],
  ["whose app has another script", shown({ spec: { shellFile: "/opt/other.sh" } }), podFor(shown())],
  ["whose app has other caps", shown({ spec: { cpuPCT: "20" } }), podFor(shown({ spec: { cpuPCT: "10" } }))],
  ["whose app has another restart policy", shown({ spec: { restartPolicy: "Never" } }), podFor(shown())],
  ["that has ended, when its app runs again", shown(), podFor(shown({ status: done }))],
  ["that has ended, when its app waits", shown({ status: stopped }), podFor(shown({ status: done }))],
];
for (const [what, wanted, pod] of replaced) {
  test(`planPod() deletes a Pod ${what}`, () => assert.equal(plan(wanted, [pod]), "delete p1"));
}

test("planPod() keeps a Pod that has ended with its app", () => {
  assert.equal(plan(shown({ status: done }), [podFor(shown({ status: done }))]), undefined);
});

test("planPod() deletes all but one of several Pods, and keeps that with the app's own name", () => {
  const other = podFor(shown(), ({ metadata }) => Object.assign(metadata, { name: "web-12345", uid: "p2" }));
  assert.equal(plan(shown(), [other, podFor(shown())]), "delete p2");
  assert.equal(plan(shown(), [other]), undefined);
});

test("planPod() reports a new state, and one that another client changed", () => {
  assert.equal(plan(shown({ status: stopped }), [podFor(shown())]), "report p1");
  // As the node controller does when it has not heard of the node.
  const unready = podFor(shown(), ({ status }) => status!.conditions!.at(-1)!.status = "False");
  assert.equal(plan(shown(), [unready]), "report p1");
});

const patchOf = (wanted: ShownApp, pod: KnownPod, written?: string[]) => {
  const action = planPod(wanted, [pod], { node, now, written });
  assert.equal(action?.kind, "update");
  return (action as { patch: { metadata: object } }).patch.metadata;
};

test("planPod() makes the labels exactly those of the app, and keeps the annotations of others", () => {
  const pod = podFor(shown(), ({ metadata }) => {
    Object.assign(metadata.labels!, { own: "label" });
    Object.assign(metadata.annotations!, { other: "client", constructor: "ours" });
  });
  const metadata = { labels: { app: "shop" }, annotations: { tier: "1" } };
  assert.deepEqual(patchOf(shown({ metadata }), pod, ["team", "constructor"]), {
    uid: "p1",
    labels: { app: "shop", own: null },
    annotations: { team: null, constructor: null, tier: "1" },
  });
});

test("planPod() leaves the labels that the API server copies from the Node", () => {
  const pod = podFor(
    shown(),
    ({ metadata }) => void (metadata.labels!["topology.kubernetes.io/zone"] = "z1"),
  );
  assert.equal(plan(shown(), [pod]), undefined);
});

test("newPod() has nothing that runs, no secrets, no settings of the agent, and an owner that needs no more rights", () => {
  const annotations = {
    team: "edge",
    "kubectl.kubernetes.io/last-applied-configuration": "secret",
    "app.example.com/restartedAt": "now",
    "kubernetes.io/config.mirror": "forged",
  };
  const spec: NCAppSpec = {
    shellFile: "https://user:secret@files.example.com/run.sh?token=secret",
    args: ["secret"],
    env: [{ name: "A", value: "secret" }],
    ports: [{ name: "http", port: 80 }, { port: 53, protocol: "UDP" }],
  };
  const { metadata, spec: podSpec } = newPod(shown({ spec, metadata: { annotations } }), node, "web");
  assert.doesNotMatch(JSON.stringify({ metadata, podSpec }), /secret|forged|restartedAt/);
  assert.deepEqual(metadata?.ownerReferences, [
    { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", name: "web", uid: "uid-web", controller: true },
  ]);
  assert.deepEqual(podSpec, {
    nodeName: "n1",
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    tolerations: [{ operator: "Exists" }],
    containers: [{
      name: "app",
      image: "nckubelet/script",
      imagePullPolicy: "Never",
      command: ["https://***@files.example.com/run.sh?***"],
      ports: [{ name: "http", containerPort: 80, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }],
    }],
  });
});

test("newPod() requests the caps of its app, as amounts of its node", () => {
  const resourcesOf = (spec: NCAppSpec) =>
    newPod(shown({ spec }), node, "web").spec?.containers[0]?.resources;
  assert.deepEqual(resourcesOf({ cpuPCT: "12.5", memPCT: 10 }), {
    requests: { cpu: "500m", memory: "800000000" },
    limits: { cpu: "500m", memory: "800000000" },
  });
  assert.deepEqual(resourcesOf({ cpuPCT: "0.001%" })?.requests, { cpu: "1m" });
  assert.equal(resourcesOf({ cpuPCT: "" }), undefined);
  const qos = (spec: NCAppSpec) => podStatus(shown({ spec }), node, {}, now).qosClass;
  assert.deepEqual([qos({}), qos({ cpuPCT: "1" }), qos({ cpuPCT: "1", memPCT: "1" })], [
    "BestEffort",
    "Burstable",
    "Guaranteed",
  ]);
});

test("newPod() is what Pod Security restricted asks for, exactly if the app runs as a user whom nobody may enter", () => {
  const contextOf = (spec: NCAppSpec) =>
    newPod(shown({ spec }), node, "web").spec?.containers[0]?.securityContext;
  for (const runAsUser of ["web", "1000", 1000]) {
    assert.deepEqual(contextOf({ runAsUser }), {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.equal(contextOf({ runAsUser, allowExec: true }), undefined);
  }
  for (const runAsUser of [undefined, "", "root", "0", 0]) assert.equal(contextOf({ runAsUser }), undefined);
});

test("isMirrorPodOf() accepts only Pods of this node that belong to an NCApp and have the mark", () => {
  const pod = newPod(shown(), node, "web");
  assert.equal(isMirrorPodOf("n1", pod), true);
  assert.equal(isMirrorPodOf("n2", pod), false);
  assert.equal(isMirrorPodOf("n1", { ...pod, metadata: { ...pod.metadata, annotations: {} } }), false);
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1" }];
  assert.equal(isMirrorPodOf("n1", { ...pod, metadata: { ...pod.metadata, ownerReferences } }), false);
});

test("otherPodName() is short, valid and the same each time, and differs by node and namespace", () => {
  const name = otherPodName("web", "default", "n1");
  assert.match(name, /^web-[0-9a-f]{5}$/);
  assert.equal(otherPodName("web", "default", "n1"), name);
  assert.notEqual(otherPodName("web", "default", "n2"), name);
  assert.notEqual(otherPodName("web", "shop", "n1"), name);
  assert.equal(otherPodName(`${"x".repeat(246)}.${"y".repeat(6)}`, "default", "n1").length, 252);
});

const movable = (given: Parameters<typeof shown>[0] = {}): ShownApp => ({ ...shown(given), movable: true });
const deleting = (pod: Identified<Pod>) => {
  pod.metadata.deletionTimestamp = "2030-01-01T10:00:00Z";
};
const evicted = (pod: Identified<Pod>) => {
  deleting(pod);
  pod.status!.conditions!.push({ type: "DisruptionTarget", status: "True" });
};

test("the Pod of an app that a drain moves is no mirror, and the other way round", () => {
  const [stays, moves] = [shown(), movable()].map((app) => newPod(app, node, "web").metadata!.annotations!);
  assert.deepEqual([stays, moves].map((all) => "kubernetes.io/config.mirror" in all!), [true, false]);
  assert.ok(isMirrorPodOf("n1", newPod(movable(), node, "web")));
  assert.equal(plan(movable(), [podFor(shown())]), "delete p1");
  assert.equal(plan(shown(), [podFor(movable())]), "delete p1");
});

test("the controller of the Pod of a set's app is the set, and its app an owner", () => {
  const pod = newPod({ ...movable(), set: { name: "web", uid: "s1" } }, node, "web-0");
  assert.deepEqual(
    pod.metadata!.ownerReferences!.map(({ kind, controller = false }) => [kind, controller]),
    [["NCAppSet", true], ["NCApp", false]],
  );
  assert.equal(ownerOf(pod)?.name, shown().owner.name);
});

test("an evicted Pod stays and shows how its app stops, and goes when it has stopped", () => {
  const pod = podFor(movable(), evicted);
  assert.equal(plan(movable(), [pod]), undefined);
  const stopping = movable({ status: { ...running, phase: "Stopping", ready: false } });
  assert.equal(plan(stopping, [pod]), "report p1");
  assert.equal(plan(undefined, [pod]), "delete p1");
});

test("a deleted Pod is judged by whether its node is cordoned", () => {
  const pod = podFor(movable(), deleting);
  assert.equal(plan(movable(), [pod]), "judge p1");
  const judged = (isEvicted: boolean, pods = [pod], lost?: KnownPod) =>
    planPod(movable(), pods, { node, now, lost, judged: { uid: "p1", evicted: isEvicted } })?.kind;
  assert.equal(judged(true), undefined);
  assert.equal(judged(false), "delete");
  // It was deleted without a grace period.
  assert.equal(planPod(movable(), [], { node, now, lost: pod })?.kind, "judge");
  assert.equal(judged(true, [], pod), undefined);
  assert.equal(judged(false, [], pod), "create");
});

test("an app that has ended, or that stays, does not leave with its Pod", () => {
  const done = movable({ status: { phase: "Succeeded" } });
  assert.equal(plan(done, [podFor(done, evicted)]), "delete p1");
  assert.equal(plan(shown(), [podFor(shown(), evicted)]), "delete p1");
});

test("the server waits for the end of an app without a grace period, too", () => {
  const pod = newPod(movable({ spec: { terminationGracePeriodSeconds: 0 } }), node, "web");
  assert.equal(pod.spec!.terminationGracePeriodSeconds, 1);
});
