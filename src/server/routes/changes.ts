/** The routes that change apps. Only the unix socket has them. */
import { Buffer } from "node:buffer";
import type { Context } from "hono";
import { applyDefaults, validateWritten } from "../../api/validate/validate.ts";
import { apiVersion, group, plural } from "../../api/names.ts";
import { showSpec } from "../../api/shown-spec.ts";
import type { NCApp } from "../../api/types.ts";
import { isObject, withoutNulls } from "../../lib/objects.ts";
import { appJSON } from "./apps.ts";
import { readQuery } from "./query.ts";
import { Refusal } from "../refusal.ts";
import type { ActionResult, Services } from "../services.ts";
import type { AgentView } from "../view.ts";

const maxBodyBytes = 1 << 20;

/** Stores the NCApp in the body under the name in the path. */
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
  const { dryRun } = readQuery<{ dryRun: boolean }>(context, { dryRun: all });
  const result = expectDone(await actions.put({ ...candidate as NCApp, apiVersion }, { dryRun }), name);
  return answerApp(context, view, result, { dryRun });
}

/** `dryRun=All`, as at the API server. */
function all(value: string): boolean {
  if (value === "All") return true;
  throw new Error("must be All");
}

/** Deletes an app; it stops within its grace period. */
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

/** Returns the route of one of the verbs without a body. */
export function changeApp(verb: "restart" | "stop" | "start" | "reload" | "trigger" | "undo") {
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

/** Answers with the desired app and its current status: a client waits until `observedGeneration` reaches the generation. */
function answerApp(
  context: Context,
  view: AgentView,
  { app, change, restarts, warnings, refused }: Done,
  { dryRun = false } = {},
): Response {
  const { namespace = "", name = "" } = context.req.param();
  const known = view.app(namespace, name);
  if (!app || !known && !dryRun) {
    throw new Refusal(404, `ncapps "${namespace}/${name}" was deleted in the meantime`, { name });
  }
  const wanted = { ...app, spec: applyDefaults(app.spec) };
  const shown = known ? appJSON({ ...known, app: wanted }) : { ...wanted, spec: showSpec(wanted.spec) };
  const outcome = change && { change, restarts, warnings, refused };
  return context.json({ ...shown, ...(outcome && { outcome }) }, change === "created" && !dryRun ? 201 : 200);
}

/** Returns the object with the names of the path. Other names in it are refused as a mistake. */
function withNames(object: unknown, names: { namespace: string; name: string }): unknown {
  if (!isObject(object)) return object;
  const given = isObject(object.metadata) ? withoutNulls(object.metadata) : {};
  for (const [field, inPath] of Object.entries(names)) {
    if (given[field] !== undefined && given[field] !== inPath) {
      const [inBody, expected] = [JSON.stringify(given[field]), JSON.stringify(inPath)];
      throw new Refusal(400, `metadata.${field} ${inBody} is not the ${field} in the path, ${expected}`);
    }
  }
  return { ...object, metadata: { ...given, ...names } };
}

/** Returns the JSON of a request's body. A body that is too long is not read to its end, one of another type not at all. */
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

async function readBytes(request: Request, contentLength: string | undefined): Promise<Uint8Array> {
  if (Number(contentLength ?? 0) > maxBodyBytes) throw tooLong(`${contentLength} bytes`);
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
  return new Refusal(413, `${what} exceeds the limit of ${maxBodyBytes} bytes`);
}
