import assert from "node:assert/strict";
import { test } from "node:test";
import { createValueResolver, fieldValue } from "../../src/agent/env-values.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import { createFolderValues } from "../../src/sources/folder-values.ts";
import { UnansweredError } from "../../src/supervisor/types.ts";
import { appWith } from "../supervisor/fixtures.ts";

const app = appWith({ shellFile: "/opt/app.sh" });

/** Resolves a key of a Secret whose request ends like this. */
async function resolve(
  answer: object | Error,
  key = "password",
  optional = false,
): Promise<string | undefined> {
  const request = () => answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  const client = { request } as unknown as KubeClient;
  const secretKeyRef = { name: "db", key, optional };
  return await createValueResolver({ client, nodeName: "n" })(app, {
    name: "PW",
    valueFrom: { secretKeyRef },
  });
}

function failure(reason: string, status?: number): KubeError {
  return new KubeError("why", { method: "GET", url: "https://k", reason, status });
}

test("a server that does not answer, or fails itself, leaves a value unanswered; a rejection does not", async () => {
  const unanswered = [
    failure("Unreachable"),
    failure("Timeout"),
    failure("Timeout", 200),
    failure("TooManyRequests", 429),
    failure("InternalError", 500),
    failure("ServiceUnavailable", 503),
  ];
  const rejected = [
    failure("Forbidden", 403),
    failure("Unauthorized", 401),
    failure("Timeout", 403),
    failure("Credentials"),
    failure("BadAnswer", 200),
  ];
  const isUnanswered = (error: KubeError) =>
    resolve(error).then(() => assert.fail("a value"), (problem) => problem instanceof UnansweredError);
  for (const error of unanswered) assert.equal(await isUnanswered(error), true, error.message);
  for (const error of rejected) assert.equal(await isUnanswered(error), false, error.message);
  await assert.rejects(resolve(failure("NotFound", 404)), { reason: "MissingKey" });
  await assert.rejects(resolve(failure("Forbidden", 403)), { reason: "WaitingForSecrets" });
  assert.equal(await resolve(failure("NotFound", 404), "password", true), undefined);
});

test("a look at what this node has asks no API server: a key that only the server may have is missing", async () => {
  const client = { request: () => assert.fail("the API server was asked") } as unknown as KubeClient;
  const folder = createFolderValues("/etc/nckubelet/manifests");
  const find = createValueResolver({ client, nodeName: "n", folderOf: () => folder });
  const variable = { name: "PW", valueFrom: { secretKeyRef: { name: "db", key: "password" } } };
  folder.replace([]);
  await assert.rejects(find(app, variable, { onNode: true }), { reason: "MissingKey" });
  const data = new Map([["password", new TextEncoder().encode("sesame")]]);
  const holder = { kind: "Secret", namespace: "default", name: "db", data } as const;
  folder.replace([{ key: "Secret default/db", holder }]);
  assert.equal(await find(app, variable, { onNode: true }), "sesame");
});

test("a key with the name of a member of every object is found only where it exists", async () => {
  await assert.rejects(resolve({ data: { password: "c2VzYW1l" } }, "constructor"), { reason: "MissingKey" });
  assert.equal(await resolve({ data: { constructor: "c2VzYW1l" } }, "constructor"), "sesame");
  const labeled = { ...app, metadata: { ...app.metadata, labels: { tier: "web" } } };
  assert.equal(fieldValue(labeled, "metadata.labels['tier']", "n"), "web");
  assert.equal(fieldValue(labeled, "metadata.labels['constructor']", "n"), "");
  assert.equal(fieldValue(app, "metadata.annotations['toString']", "n"), "");
});
