/** Addresses with a meaning of their own: loopback, and link-local, where metadata services live that trust every caller on this node. */
import { BlockList, isIP } from "node:net";

/** Reports whether a host is `localhost` or a loopback address, which never leave the machine. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? "ipv4" : "ipv6");
}

/** Reports whether an address is link-local, also if IPv6 embeds the IPv4 address. */
export function isLinkLocal(address: string): boolean {
  const plain = address.split("%")[0] ?? "";
  const family = isIP(plain);
  return family !== 0 && linkLocal.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/** Returns the address in a URL whose host is one; the URL parser has normalized 0xA9FEA9FE and the like. */
export function hostAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) ? bare : undefined;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");
linkLocal.addSubnet("::ffff:a9fe:0", 112, "ipv6"); // IPv4-mapped
linkLocal.addSubnet("::a9fe:0", 112, "ipv6"); // IPv4-compatible
linkLocal.addSubnet("64:ff9b::a9fe:0", 112, "ipv6"); // NAT64
linkLocal.addSubnet("2002:a9fe::", 32, "ipv6"); // 6to4
