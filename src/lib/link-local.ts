/** Link-local addresses: metadata services live there, and they trust whoever asks from this node. */
import { BlockList, isIP } from "node:net";

/** Whether an address is link-local, in any of the ways IPv6 has to write an IPv4 address. */
export function isLinkLocal(address: string): boolean {
  const plain = address.split("%")[0] ?? "";
  const family = isIP(plain);
  return family !== 0 && linkLocal.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/** The address in a URL that names its host by number; the URL parser has already unified 0xA9FEA9FE and the like. */
export function hostAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) ? bare : undefined;
}

const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");
linkLocal.addSubnet("::ffff:a9fe:0", 112, "ipv6"); // IPv4-mapped
linkLocal.addSubnet("::a9fe:0", 112, "ipv6"); // IPv4-compatible
linkLocal.addSubnet("64:ff9b::a9fe:0", 112, "ipv6"); // NAT64
linkLocal.addSubnet("2002:a9fe::", 32, "ipv6"); // 6to4
