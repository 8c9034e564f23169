/**
 * What may be shown of a spec to everybody: any user of a machine can ask a loopback port, and a mirror is read by a whole cluster.
 */
import type { NCAppSpec, Probe } from "./types.ts";

/** What stands for a value that only the node is to know. */
export const hiddenValue = "(set on the node)";
/** What stands for the query of a URL. */
export const hiddenQuery = "?***";

/** The spec without values of variables, without headers of probes, and without what a URL says to its server alone. */
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

/** A URL without user, password and query, where signed links and tokens are; a path as it is. */
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
