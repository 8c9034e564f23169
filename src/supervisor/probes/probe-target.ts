/** Where a probe connects to: a host, which may be an IPv6 address with or without brackets, and a port. */
import { defaultProbeHost } from "../../api/probe-mechanisms.ts";
import type { DefaultedSpec } from "../../api/types.ts";

export interface ProbeTarget {
  host: string;
  port: number;
}

/** The host and port of a probe's action; undefined if the app has no port of that name. */
export function resolveTarget(
  { host, port }: { host?: string; port: string | number },
  ports: DefaultedSpec["ports"],
): ProbeTarget | undefined {
  const number = /^\d+$/.test(String(port)) ? Number(port) : ports?.find(({ name }) => name === port)?.port;
  return number === undefined ? undefined : { host: bareHost(host || defaultProbeHost), port: number };
}

/** The host in the form that a socket accepts. */
export function bareHost(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** The host and port as in a URL and a Host header, without a zone such as in `fe80::1%eth0`: only this node knows it. */
export function authority(host: string, port: number): string {
  const bare = bareHost(host);
  return `${bare.includes(":") ? `[${bare.replace(/%.*/, "")}]` : bare}:${port}`;
}
