/** The routes that change apps. Only the unix socket has them. */
import { Buffer } from "node:buffer";
import type { Context } from "hono";
import { applyDefaults, validateWritten } from "../../api/validate/validate.ts";
import { group, plural } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import { isPlainObject } from "../../lib/merge-patch.ts";
import { appJSON } from "./apps.ts";
import { Refusal } from "../refusal.ts";
import type { ActionResult, Services } from "../services.ts";
import type { AgentView } from "../view.ts";

/** The longest body that is read, in bytes. */
const maxBodyBytes = 1 << 20;

/** Keeps the NCApp in the body under the name in the path. */
export async function putApp(context: Context, { view, actions }: Services): Promise<Response> {
  const { namespace = "", name = "" } = context.req.param();
  const candidate = withNames(await readJSON(context), { namespace, name });
  const causes = validateWritten(candidate);
  if (causes.length > 0) {
    const message = `NCApp ${namespace}/${name} is invalid: ${
      causes.map(({ message }) => message).join("; ")
    }`;
    throw new Refusal(422, message, { name, causes });
  }
  const result = expectDone(await actions.put(candidate as NCApp), name);
  return answerApp(context, view, result);
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
    const result = expectDone(await actions[verb](namespace, name), name);
    return answerApp(context, view, result);
  };
}

type Done = Extract<ActionResult, { done: true }>;

function expectDone(result: ActionResult, name: string): Done {
  if (result.done) return result;
  throw new Refusal(result.code, result.message, { name });
}

/** The app as it is wanted, with the status that it has: a caller waits until `observedGeneration` has come that far. */
function answerApp(context: Context, view: AgentView, { app, created }: Done): Response {
  const { namespace = "", name = "" } = context.req.param();
  const known = view.app(namespace, name);
  if (!app || !known) throw new Refusal(404, `ncapps "${namespace}/${name}" was deleted meanwhile`, { name });
  const wanted = { ...known, app: { ...app, spec: applyDefaults(app.spec) } };
  return context.json(appJSON(wanted), created ? 201 : 200);
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

/** The JSON of a request's body. A longer one is not read to its end, another kind not at all. */
async function readJSON({ req }: Context): Promise<unknown> {
  const type = req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Refusal(415, `content-type ${JSON.stringify(type ?? "")}: send application/json`);
  }
  const bytes = await readBytes(req.raw, req.header("content-length"));
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${(error as Error).message}`);
  }
}

async function readBytes(request: Request, announced: string | undefined): Promise<Uint8Array> {
  if (Number(announced ?? 0) > maxBodyBytes) throw tooLong(`${announced} bytes`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > maxBodyBytes) throw tooLong("the body");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLong(what: string): Refusal {
  return new Refusal(413, `${what} is more than the ${maxBodyBytes} bytes that are read`);
}
