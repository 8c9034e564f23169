import type { ServerResponse } from "node:http";
import type { NCApp } from "../../src/api/types.ts";
import type { Answer, SeenRequest } from "./fake-server.ts";
import { json } from "./fake-server.ts";

export const apiVersion = "app.example.com/v1alpha1";

/** An NCApp as the API server returns it. */
export function ncapp(
  name: string,
  node = "node-a",
  { uid = `uid-${name}`, version = "1", namespace = "default" } = {},
) {
  return {
    apiVersion,
    kind: "NCApp",
    metadata: { name, namespace, uid, resourceVersion: version, managedFields: [{ manager: "kubectl" }] },
    spec: { shellFile: "/bin/true", nodeName: node },
  } as NCApp;
}

/** A list of NCApps. */
export function listOf(items: unknown, version = "10", more?: string) {
  return { apiVersion, kind: "NCAppList", metadata: { resourceVersion: version, continue: more }, items };
}

/** A watch event as it is sent. */
export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A bookmark at a version. */
export function bookmark(version: string): string {
  return line("BOOKMARK", { apiVersion, kind: "NCApp", metadata: { resourceVersion: version } });
}

/** An ERROR event. */
export function errorLine(code: number, reason: string, message: string): string {
  return line("ERROR", { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}

/** Accepts a watch and sends the lines; the connection stays open. */
export function accept(response: ServerResponse, ...lines: (string | Uint8Array)[]) {
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  for (const text of lines) response.write(text);
}

/** Answers lists and watches by the next of what was given for each; the last one again and again. */
export function apiServer({ lists, watches = [] }: { lists: Answer[]; watches?: Answer[] }): Answer {
  let listed = 0;
  let watched = 0;
  const never: Answer = (_, response) => accept(response);
  return (request, response, index) => {
    const answers = isWatch(request) ? watches : lists;
    const turn = isWatch(request) ? watched++ : listed++;
    (answers[Math.min(turn, answers.length - 1)] ?? never)(request, response, index);
  };
}

/** An answer with a list. */
export function lists(items: unknown, version?: string, more?: string): Answer {
  return (_, response) => json(response, listOf(items, version, more));
}

export function isWatch({ query }: SeenRequest): boolean {
  return query.get("watch") === "true";
}
