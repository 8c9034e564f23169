/** Hosts of probes: names and addresses, an IPv6 address with brackets or without. */

/** The host as a socket takes it. */
export function bareHost(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** The host and port as they stand in a URL and in a Host header: a zone, such as in `fe80::1%eth0`, is for this node alone. */
export function authority(host: string, port: number): string {
  const bare = bareHost(host);
  return `${bare.includes(":") ? `[${bare.replace(/%.*/, "")}]` : bare}:${port}`;
}
