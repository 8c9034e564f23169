import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  contentOf,
  grantName,
  grantObjects,
  onlyGrants,
  type Role,
} from "../../src/identities/grant-objects.ts";
import { grantedApp, grants, maxNames, type ServedApp } from "../../src/identities/grants.ts";
import { runs } from "../properties.ts";

const names = fc.constantFrom("a", "b", "c");
const nodes = fc.constantFrom("", "edge-1", "edge-2", "Not a name");
const namespaces = fc.constantFrom("default", "team", "kube-system", "nckubelet", "nckubelet-agents");

const references = fc.array(
  fc.record({ name: names, kind: fc.constantFrom("secretKeyRef", "configMapKeyRef", "fieldRef") }),
  { maxLength: 3 },
);
const apps: fc.Arbitrary<ServedApp[]> = fc.array(
  fc.record({
    namespace: namespaces,
    bound: nodes,
    held: nodes,
    references,
    mark: fc.constantFrom(undefined, "", "forged"),
  }),
  { maxLength: 6 },
).map((all) =>
  all.map(({ namespace, bound, held, references, mark }, at) => ({
    metadata: {
      ...{
        namespace,
        name: `app-${at}`,
        uid: `uid-${at}`,
        resourceVersion: "1",
        creationTimestamp: `2026-01-0${at + 1}`,
      },
      ...(mark === undefined ? {} : { annotations: { "app.example.com/config.mirror": mark } }),
    },
    spec: {
      nodeName: bound || undefined,
      env: references.map(({ name, kind }) => ({
        name: "X",
        valueFrom: { [kind]: kind === "fieldRef" ? { fieldPath: "metadata.name" } : { name, key: "k" } },
      })),
    },
    ...(held ? { status: { nodeName: held } } : {}),
  }))
);

const granted = (all: ServedApp[]) => grants(all.flatMap((app) => grantedApp(app) ?? []));
const holds = (app: ServedApp, node: string) => [app.spec.nodeName, app.status?.nodeName].includes(node);

test("a node may read what its apps refer to, and nothing else", () => {
  fc.assert(
    fc.property(apps, (all) => {
      const found = granted(all);
      for (const [key, { secrets, configMaps }] of found) {
        const [namespace, node = ""] = key.split("/");
        assert.ok(!/^(kube-|nckubelet)/.test(namespace!) && /^edge-/.test(node), key);
        const own = all.filter((app) =>
          app.metadata.namespace === namespace && holds(app, node) && !app.metadata.annotations
        );
        for (const [field, list] of Object.entries({ secretKeyRef: secrets, configMapKeyRef: configMaps })) {
          const referred = own.flatMap(({ spec }) =>
            (spec.env ?? []).flatMap(({ valueFrom }) =>
              (valueFrom as Record<string, { name: string }>)[field]?.name ?? []
            )
          );
          assert.deepEqual(list, [...new Set(referred)].sort());
        }
      }
      // Each app that counts has a key on each of its nodes.
      for (const app of all) {
        const refers = app.spec.env!.some(({ valueFrom }) => !valueFrom?.fieldRef);
        const { namespace, annotations } = app.metadata;
        for (const node of ["edge-1", "edge-2"]) {
          if (!refers || annotations || /^(kube-|nckubelet)/.test(namespace) || !holds(app, node)) continue;
          assert.ok(found.has(`${namespace}/${node}`));
        }
      }
    }),
    runs(300),
  );
});

test("a Role that has only wanted names loses none by a write, and the same rights have the same content", () => {
  fc.assert(
    fc.property(apps, apps, (before, after) => {
      const [old, now] = [granted(before), granted(after)];
      for (const [key, wanted] of now) {
        const earlier = old.get(key);
        if (!earlier) continue;
        const { role } = grantObjects("default", "edge-1", earlier);
        const isWider = [
          ...earlier.secrets.map((name) => wanted.secrets.includes(name)),
          ...earlier.configMaps.map((name) => wanted.configMaps.includes(name)),
        ].every(Boolean);
        assert.equal(onlyGrants(role as unknown as Role, wanted), isWider);
        const isSame = contentOf(role) === contentOf(grantObjects("default", "edge-1", wanted).role);
        assert.equal(isSame, JSON.stringify(earlier) === JSON.stringify(wanted));
      }
    }),
    runs(300),
  );
});

test("a Role has a bounded number of names, and no later app takes one from an earlier one", () => {
  const app = (at: number, count: number) =>
    grantedApp({
      metadata: {
        namespace: "default",
        name: `app-${at}`,
        uid: `${at}`,
        resourceVersion: "1",
        creationTimestamp: `2026-01-0${at}`,
      },
      spec: {
        nodeName: "edge-1",
        env: Array.from({ length: count }, (_, index) => ({
          name: `V${index}`,
          valueFrom: { secretKeyRef: { name: `s-${9 - at}-${index}`, key: "k" } },
        })),
      },
    } as ServedApp)!;
  const { secrets } = grants([app(2, maxNames), app(1, 10)]).get("default/edge-1")!;
  assert.equal(secrets.length, maxNames);
  assert.equal(secrets.filter((name) => name.startsWith("s-8-")).length, 10);
});

test("the objects of a node with the longest name have a name that the API server accepts", () => {
  assert.match(grantName("n".repeat(253)), /^nckubelet-node-[0-9a-f]{32}$/);
  assert.notEqual(grantName("a"), grantName("b"));
});
