import { BlockList, isIP } from "node:net";
import { isLoopback } from "../../lib/special-addresses.ts";

export type Environment = Record<string, string | undefined>;

/**
 * Returns the proxy for `target`: HTTPS_PROXY or HTTP_PROXY by its scheme, unless NO_PROXY names the host. The rules are those
 * of kubectl: loopback never uses a proxy, `.example.com` and `example.com` include subdomains, address ranges and ports work.
 */
export function proxyFromEnvironment(target: URL, env: Environment): URL | undefined {
  const host = bareHost(target);
  if (isLoopback(host)) return undefined;
  const name = target.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const given = lookUp(env, name);
  if (!given || isExcluded(target, lookUp(env, "NO_PROXY") ?? "")) return undefined;
  return parseProxy(given, name);
}

/** `origin` says in the error where the proxy was given. The error never shows its password. */
export function parseProxy(text: string, origin: string): URL {
  const withScheme = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (!url?.hostname) throw new Error(`${origin} is not the address of a proxy`);
  if (!["http:", "https:", "socks5:"].includes(url.protocol)) {
    throw new Error(
      `${origin}: cannot use a ${url.protocol.slice(0, 20)}// proxy, only http, https and socks5`,
    );
  }
  return url;
}

function isExcluded(target: URL, noProxy: string): boolean {
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  return noProxy.split(",").map((entry) => entry.trim().toLowerCase()).filter(Boolean)
    .some((entry) => entry === "*" || matches(entry, bareHost(target), port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry.includes("/")) return isInRange(host, entry);
  const withPort = /^(.+):(\d+)$/.exec(entry);
  if (withPort && isIP(entry) === 0) {
    return withPort[2] === port && matches(unbracket(withPort[1]!), host, port);
  }
  const name = unbracket(entry).replace(/^\*\./, ".");
  if (isIP(name)) return name === host;
  return name.startsWith(".") ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function isInRange(host: string, range: string): boolean {
  const [base = "", bits = ""] = range.split("/");
  if (isIP(base) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (isIP(base) === 6 ? 128 : 32)) {
    return false;
  }
  const block = new BlockList();
  block.addSubnet(base, Number(bits), familyOf(base));
  return isIP(host) !== 0 && block.check(host, familyOf(host));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function lookUp(env: Environment, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()];
}

function bareHost(url: URL): string {
  return unbracket(url.hostname.toLowerCase());
}

function unbracket(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
