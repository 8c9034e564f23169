import type { ServerResponse } from "node:http";
import {
  apiVersionOf,
  leases,
  limitRanges,
  ncapps,
  nodes,
  priorityClasses,
  resourceQuotas,
} from "../../src/kube/resources.ts";
import { accept, type Answer, isWatch, json, refuse, type SeenRequest } from "../kube/fake-server.ts";

const followed = [ncapps, nodes, leases, priorityClasses, limitRanges, resourceQuotas];

/** The resource that a request is about, by its plural. */
export function pluralOf({ path }: SeenRequest): string | undefined {
  return followed.find(({ plural }) => path.split("/").includes(plural))?.plural;
}

/** Answers with a list of these objects, as of a version. */
export function answerList(
  response: ServerResponse,
  plural: string,
  items: object[] = [],
  resourceVersion = "10",
): void {
  const resource = followed.find((known) => known.plural === plural)!;
  const kind = `${resource.kind}List`;
  json(response, { apiVersion: apiVersionOf(resource), kind, metadata: { resourceVersion }, items });
}

/** An API server that has these objects and tells of no change; `first` may answer instead, and says whether it did. */
export function quietServer(
  objects: Record<string, object[]>,
  first: (request: SeenRequest, response: ServerResponse) => boolean,
): Answer {
  return (request, response) => {
    if (first(request, response)) return;
    const plural = pluralOf(request);
    const isList = plural !== undefined && request.path.endsWith(`/${plural}`);
    if (request.method !== "GET") json(response, JSON.parse(request.body), 201);
    else if (!isList) refuse(response, 404, "NotFound", "not found");
    else if (isWatch(request)) accept(response);
    else answerList(response, plural, objects[plural]);
  };
}
