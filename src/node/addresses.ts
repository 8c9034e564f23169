/** The addresses at which others can reach a machine. Pure. */
import type { NetworkInterfaceInfo } from "node:os";
import { isLinkLocal } from "../lib/special-addresses.ts";

/** As returned by `os.networkInterfaces()`. */
export type Addresses = {
  [device: string]: Pick<NetworkInterfaceInfo, "address" | "family" | "internal">[] | undefined;
};

/**
 * Returns one address of each family, IPv4 first: that of the device with the default route, else that of the first device by
 * name. Loopback and link-local addresses are skipped: others cannot connect to them. `route` and `ipv6Route` are the contents of
 * files in /proc/net.
 */
export function nodeAddresses(interfaces: Addresses, route: string, ipv6Route: string): string[] {
  const way = { IPv4: defaultDevice(route), IPv6: defaultDeviceIPv6(ipv6Route) };
  return (["IPv4", "IPv6"] as const).flatMap((family) => {
    const devices = Object.keys(interfaces).sort((one, other) =>
      Number(other === way[family]) - Number(one === way[family]) || (one < other ? -1 : 1)
    );
    const found = devices.flatMap((device) => interfaces[device] ?? [])
      .find((entry) => entry.family === family && !entry.internal && !isLinkLocal(entry.address));
    return found ? [found.address] : [];
  });
}

/** Of several default routes the one with the lowest metric counts. */
function defaultDevice(route: string): string | undefined {
  const routes = rows(route).filter(([, destination, , , , , , mask]) => isZero(destination) && isZero(mask))
    .map(([device, , , , , , metric]) => ({ device, metric: Number(metric) }));
  return lowest(routes);
}

function defaultDeviceIPv6(route: string): string | undefined {
  const routes = rows(route).filter(([destination, length]) => isZero(destination) && length === "00")
    .map((fields) => ({ device: fields[9], metric: parseInt(fields[5] ?? "", 16) }))
    .filter(({ device }) => device !== "lo");
  return lowest(routes);
}

function lowest(routes: { device?: string; metric: number }[]): string | undefined {
  return routes.sort((one, other) => one.metric - other.metric)[0]?.device;
}

function rows(text: string): string[][] {
  return text.split("\n").map((line) => line.trim().split(/\s+/));
}

function isZero(hex: string | undefined): boolean {
  return hex !== undefined && /^0+$/.test(hex);
}
