/** Addresses: `host:port`, and those with a meaning of their own: loopback, and link-local, where metadata services live that trust every caller on this node. */
import { Buffer } from "node:buffer";
import { BlockList, isIP } from "node:net";

/** Reports whether a host is `localhost` or a loopback address, which never leave the machine. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? "ipv4" : "ipv6");
}

/** Reports whether an address is link-local, also if IPv6 embeds the IPv4 address. */
export function isLinkLocal(address: string): boolean {
  return contains(linkLocal, address);
}

/**
 * Says what an address is that downloads must not use, also if IPv6 embeds the IPv4 address; undefined for all others. Metadata
 * services trust every caller on the node. Most are link-local, but not all.
 */
export function describeMetadataAddress(address: string): string | undefined {
  if (isLinkLocal(address)) return "a link-local address";
  return contains(metadata, address) ? "the address of a metadata service" : undefined;
}

/** Reports whether an address cannot be that of one machine: loopback, link-local, multicast, reserved, or of a metadata service. */
export function isOfNoMachine(address: string): boolean {
  return isLoopback(address) || describeMetadataAddress(address) !== undefined || contains(reserved, address);
}

/** Returns the address in a URL whose host is one; the URL parser has normalized 0xA9FEA9FE and the like. */
export function hostAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) ? bare : undefined;
}

/** The 4 or 16 bytes of an address. */
export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const { hostname } = new URL(`http://[${address}]/`);
  const [before = "", after] = hostname.slice(1, -1).split("::");
  const groups = (text: string) => text.split(":").filter(Boolean).map((group) => parseInt(group, 16));
  const [head, tail] = [groups(before), groups(after ?? "")];
  const zeros = new Array<number>(after === undefined ? 0 : 8 - head.length - tail.length).fill(0);
  return Buffer.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Splits `host:port` and `[v6]:port`. */
export function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new Error(`${JSON.stringify(address)} is not an address such as 127.0.0.1:10268`);
  }
  return { host: match[1] ?? match[2] ?? "", port };
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const linkLocal = blockList({ "169.254.0.0": 16, "fe80::": 10 });

const reserved = blockList({ "0.0.0.0": 8, "127.0.0.0": 8, "224.0.0.0": 3, "::": 127, "ff00::": 8 });

const metadata = blockList({
  "100.100.100.200": 32, // Alibaba Cloud
  "168.63.129.16": 32, // Azure
  "192.0.0.192": 32, // Oracle Cloud
  "fd00:ec2::254": 128, // AWS
  "fd20:ce::254": 128, // Google Cloud
});

/** A list of networks with their prefix lengths; of IPv4 networks also every form of IPv6 that embeds one. */
function blockList(networks: Record<string, number>): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of Object.entries(networks)) {
    if (isIP(network) === 6) {
      list.addSubnet(network, prefix, "ipv6");
      continue;
    }
    list.addSubnet(network, prefix, "ipv4");
    const [a = 0, b = 0, c = 0, d = 0] = network.split(".").map(Number);
    const [high, low] = [a << 8 | b, c << 8 | d].map((part) => part.toString(16));
    // IPv4-mapped, IPv4-compatible, NAT64
    for (const start of ["::ffff:", "::", "64:ff9b::"]) {
      list.addSubnet(`${start}${high}:${low}`, 96 + prefix, "ipv6");
    }
    list.addSubnet(`2002:${high}:${low}::`, 16 + prefix, "ipv6"); // 6to4
  }
  return list;
}

function contains(list: BlockList, address: string): boolean {
  const plain = address.split("%")[0] ?? "";
  const family = isIP(plain);
  return family !== 0 && list.check(plain, family === 4 ? "ipv4" : "ipv6");
}
