/// <reference lib="dom" />
/** Requests to the agent. */
import type { NCApp, NCAppStatus } from "../../../api/types.ts";

/** An app as `/apps` has it. */
export type App = Pick<NCApp, "spec"> & {
  metadata: { name: string; namespace: string };
  status: NCAppStatus;
  agent: { source: string; origin?: string };
};

/** The agent requires a token, or another one. */
export class TokenNeeded extends Error {}

const tokenKey = "nckubelet-token";

/** Stores a token until the tab is closed. */
export function useToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

/** Takes the token from the link that `nckubelet dashboard` prints, and removes it from the address and from the history. */
export function takeToken(): boolean {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!token) return false;
  useToken(token);
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

export async function get<T>(path: string): Promise<T> {
  return await (await request(path)).json();
}

/** Returns the answer to a GET; an error has the agent's message. */
export async function request(path: string, signal?: AbortSignal): Promise<Response> {
  const token = sessionStorage.getItem(tokenKey);
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  const answer = await fetch(path, { headers, signal, cache: "no-store" });
  if (answer.ok) return answer;
  const { message = `status ${answer.status}` } = await answer.json().catch(() => ({}));
  if (answer.status === 401) throw new TokenNeeded(message);
  throw new Error(message);
}

export function pathOf({ metadata: { namespace, name } }: App): string {
  return `/apps/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Returns the key of an app in the history and in links. */
export function keyOf({ metadata: { namespace, name } }: App): string {
  return `${namespace}/${name}`;
}
