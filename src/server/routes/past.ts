/** The routes of what happened to apps: their events, and everything that their histories have. */
import type { Context } from "hono";
import { isSafeName, isSafeNamespace, splitAppKey } from "../../api/names.ts";
import { Refusal } from "../refusal.ts";
import type { Services } from "../services.ts";
import type { AppEventView } from "../view.ts";
import { readQuery, wholeNumber } from "./query.ts";
import { sendStream } from "./stream.ts";

const encoder = new TextEncoder();
const sinceSeconds = wholeNumber(2 ** 31 - 1, 1);

/** The last events of all apps or of one; with `sinceSeconds` all since then, also of apps that were removed. */
export async function listEvents(context: Context, { view, readers }: Services): Promise<Response> {
  const query = readQuery<{ app: string; sinceSeconds: number }>(context, { app: appKeyOf, sinceSeconds });
  const lists = view.events({ app: query.app, since: timeBefore(query.sinceSeconds) })
    [Symbol.asyncIterator]();
  // A disk that does not answer is an error, not half an answer.
  const first = await lists.next();
  const encode = async function* () {
    yield encoder.encode('{"items":[');
    let comma = "";
    for (let next = first; !next.done; next = await lists.next()) {
      const text = next.value.map((event: AppEventView) => JSON.stringify(event)).join(",");
      if (text) yield encoder.encode(comma + text);
      if (text) comma = ",";
    }
    yield encoder.encode("]}");
  };
  return sendStream(context, encode, { contentType: "application/json", limit: readers });
}

/** Everything that happened to an app, also to one that was removed. */
export async function showHistory(context: Context, { view }: Services): Promise<Response> {
  const { namespace = "", name = "" } = context.req.param();
  const query = readQuery<{ sinceSeconds: number }>(context, { sinceSeconds });
  const isName = isSafeName(name) && isSafeNamespace(namespace);
  const items = isName && await view.appHistory(namespace, name, timeBefore(query.sinceSeconds));
  if (!items) {
    throw new Refusal(404, `ncapps "${namespace}/${name}" not found on node ${view.node}`, { name });
  }
  return context.json({ items });
}

function timeBefore(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Date.now() - seconds * 1000;
}

function appKeyOf(value: string): string {
  try {
    const { namespace, name } = splitAppKey(value);
    if (isSafeNamespace(namespace) && isSafeName(name)) return value;
  } catch {
    // As below.
  }
  throw new Error("must be NAMESPACE/NAME");
}
