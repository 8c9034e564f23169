/**
 * A spec without its secrets, for readers that may be anyone: every user of a machine can query a loopback port, and every
 * user of a cluster can read a mirror.
 */
import type { NCAppSpec, Probe } from "./types.ts";

/** Placeholder of a value that only the node knows. */
export const hiddenValue = "(set on the node)";
export const hiddenQuery = "?***";

/** Returns the spec without values of variables, headers of probes, and credentials and query of a URL. */
export function showSpec<Spec extends NCAppSpec>(spec: Spec): Spec {
  const { shellFile, env, livenessProbe, readinessProbe, startupProbe } = spec;
  return {
    ...spec,
    ...(shellFile && { shellFile: showURL(shellFile) }),
    ...(env && { env: env.map(hideValue) }),
    ...(livenessProbe && { livenessProbe: showProbe(livenessProbe) }),
    ...(readinessProbe && { readinessProbe: showProbe(readinessProbe) }),
    ...(startupProbe && { startupProbe: showProbe(startupProbe) }),
  };
}

/** Returns a URL without user, password and query, which may hold tokens; a path unchanged. */
export function showURL(url: URL | string): string {
  const text = String(url);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return text;
  return text.replace(/^([a-z][a-z0-9+.-]*:\/*)[^/?#]*@/i, "$1***@").replace(/\?[^#]*/, hiddenQuery);
}

function showProbe(probe: Probe): Probe {
  const { httpGet } = probe;
  if (!httpGet?.httpHeaders) return probe;
  return { ...probe, httpGet: { ...httpGet, httpHeaders: httpGet.httpHeaders.map(hideValue) } };
}

function hideValue<Named extends { value?: string }>(named: Named): Named {
  return named.value === undefined ? named : { ...named, value: hiddenValue };
}
