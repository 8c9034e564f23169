/** The routes that change apps. Only the unix socket has them. */
import type { Context } from "hono";
import { group, plural } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { validateNCApp } from "../api/validate.ts";
import { isPlainObject } from "../lib/merge-patch.ts";
import type { ActionResult, AppActions } from "./actions.ts";
import { appJSON } from "./apps.ts";
import { readJSON } from "./body.ts";
import { Refusal } from "./refusal.ts";
import type { Services } from "./services.ts";
import type { AgentView } from "./view.ts";

/** Keeps the NCApp in the body under the name in the path. */
export async function putApp(context: Context, { view, actions }: Services): Promise<Response> {
  const { namespace = "", name = "" } = context.req.param();
  const candidate = withNames(await readJSON(context), { namespace, name });
  const causes = validateNCApp(candidate);
  if (causes.length > 0) {
    const message = `NCApp ${namespace}/${name} is invalid: ${
      causes.map(({ message }) => message).join("; ")
    }`;
    throw new Refusal(422, message, { name, causes });
  }
  const { created } = expectDone(await actions.put(candidate as NCApp), name);
  return answerApp(context, view, created ? 201 : 200);
}

/** Gives an app up; it stops within its grace period. */
export async function deleteApp(context: Context, { actions }: Services): Promise<Response> {
  const { namespace = "", name = "" } = context.req.param();
  expectDone(await actions.remove(namespace, name), name);
  return context.json({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, group, kind: plural },
  });
}

/** Makes the route for one of the verbs that need no body. */
export function changeApp(verb: "restart" | "stop" | "start") {
  return async (context: Context, { view, actions }: Services): Promise<Response> => {
    const { namespace = "", name = "" } = context.req.param();
    expectDone(await actions[verb](namespace, name), name);
    return answerApp(context, view, 200);
  };
}

function expectDone(
  result: Awaited<ReturnType<AppActions["put"]>>,
  name: string,
): Extract<ActionResult, { done: true }> {
  if (result.done) return result;
  throw new Refusal(result.code, result.message, { name });
}

function answerApp(context: Context, view: AgentView, code: 200 | 201): Response {
  const { namespace = "", name = "" } = context.req.param();
  const app = view.app(namespace, name);
  return context.json(app ? appJSON(app) : {}, code);
}

/** The object with the names of the path, where it has none. Other names in it are a mistake that nobody should pay for. */
function withNames(object: unknown, names: { namespace: string; name: string }): unknown {
  if (!isPlainObject(object)) return object;
  const given = isPlainObject(object.metadata) ? withoutNulls(object.metadata) : {};
  for (const [field, inPath] of Object.entries(names)) {
    if (given[field] !== undefined && given[field] !== inPath) {
      const [said, asked] = [JSON.stringify(given[field]), JSON.stringify(inPath)];
      throw new Refusal(400, `metadata.${field} ${said} is not the ${field} in the path, ${asked}`);
    }
  }
  return { ...object, metadata: { ...given, ...names } };
}

/** Clients in Go send `creationTimestamp: null`. */
function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
