/**
 * Limits the connections of a server, so that those who may use it are never shut out by those who may not.
 *
 * A connection is trusted while its last request was authorized, and as long as it carries a stream that was (`ConnectionEnv.trust`).
 *
 * Guarantees: a trusted connection is never closed for another one that is not, and a part of the places is reserved for trusted ones.
 * The others are limited for each peer and in all. Beyond a limit the new connection is accepted, and the connection of the peer
 * with the most of them goes: the one that has been idle longest; if none is idle, the oldest. So who has just connected and
 * becomes trusted within moments has its place, however fast others connect. A connection without a finished TLS handshake ends at
 * its deadline, whatever its client sends. Only where trusted connections take every place and none of them idles, a new one is refused.
 */
import type { Server, ServerResponse } from "node:http";
import { isIPv6, type Socket } from "node:net";
import { addressBytes } from "../../lib/special-addresses.ts";
import type { ConnectionEnv } from "../access.ts";

export interface ConnectionBounds {
  connections: number;
  /** How many of them only trusted connections may use. */
  reserved: number;
  /** How many of one peer may be open without being trusted; Infinity: peers are not told apart. */
  perPeer: number;
}

interface Connection {
  socket: Socket;
  peer: string;
  /** Unanswered requests. */
  requests: number;
  isTrusted: boolean;
}

/**
 * Adds the limits to a server, and returns what a request's socket is known for. With `upgrades` a connection that asks for another
 * protocol is busy until it closes.
 */
export function limitConnections(
  server: Server,
  { connections: max, reserved, perPeer }: ConnectionBounds,
  { upgrades, handshakeMs }: { upgrades: boolean; handshakeMs?: number },
): (socket: Socket) => Required<ConnectionEnv> {
  // Sets keep their order: the first connection has been in that state the longest.
  const trusted = { idle: new Set<Connection>(), busy: new Set<Connection>() };
  const others = new Map<string, typeof trusted>();
  const bySocket = new WeakMap<object, Connection>();
  const byAddress = new Map<string, Connection>();
  // With TLS the socket of a request is not the accepted one; the addresses are the same.
  const find = (socket: Socket) => bySocket.get(socket) ?? byAddress.get(addressOf(socket));
  const handshakes = new Map<string, NodeJS.Timeout>();
  let untrusted = 0;
  const add = (connection: Connection) => {
    const group = connection.isTrusted ? trusted : ensure(others, connection.peer, newGroup);
    group[connection.requests > 0 ? "busy" : "idle"].add(connection);
    if (!connection.isTrusted) untrusted++;
  };
  const remove = (connection: Connection): boolean => {
    const group = connection.isTrusted ? trusted : others.get(connection.peer);
    if (!group || !(group.idle.delete(connection) || group.busy.delete(connection))) return false;
    if (connection.isTrusted) return true;
    untrusted--;
    if (sizeOf(group) === 0) others.delete(connection.peer);
    return true;
  };
  /** Changes a connection that is still there; its place in the order is the last. */
  const change = (connection: Connection, edit: () => void) => {
    const isThere = remove(connection);
    edit();
    if (isThere) add(connection);
  };
  const drop = (connection: Connection | undefined) => {
    if (!connection) return;
    // Its close event comes later; the next connection must not find it again.
    remove(connection);
    connection.socket.destroy();
  };
  /** Returns whether there is a place for one more of this peer. */
  const makeRoom = (peer: string): boolean => {
    const own = others.get(peer);
    if (own && sizeOf(own) >= perPeer) drop(first(own));
    if (untrusted < max - reserved && untrusted + sizeOf(trusted) < max) return true;
    const oldest = untrusted > 0 ? first(largest(others)) : trusted.idle.values().next().value;
    drop(oldest);
    return oldest !== undefined;
  };

  server.on("connection", (socket: Socket) => {
    const peer = perPeer === Infinity ? "" : peerOf(socket.remoteAddress);
    if (!makeRoom(peer)) return void socket.destroy();
    const connection = { socket, peer, requests: 0, isTrusted: false };
    const address = addressOf(socket);
    bySocket.set(socket, connection);
    byAddress.set(address, connection);
    // Node's own deadline only reports, and what answers it waits for the handshake.
    const deadline = handshakeMs && setTimeout(() => socket.destroy(), handshakeMs);
    if (deadline) handshakes.set(address, deadline);
    socket.once("close", () => {
      clearTimeout(deadline);
      remove(connection);
      if (byAddress.get(address) === connection) byAddress.delete(address);
      if (handshakes.get(address) === deadline) handshakes.delete(address);
    });
    add(connection);
  });
  server.on("secureConnection", (socket: Socket) => clearTimeout(handshakes.get(addressOf(socket))));
  const begin = (socket: Socket): Connection | undefined => {
    const connection = find(socket);
    if (connection) change(connection, () => connection.requests++);
    return connection;
  };
  if (upgrades) server.on("upgrade", (_: unknown, socket: Socket) => void begin(socket));
  server.on("request", ({ socket }: { socket: Socket }, response: ServerResponse) => {
    const connection = begin(socket);
    response.once("close", () => connection && change(connection, () => connection.requests--));
  });
  const all = () => [trusted, ...others.values()].flatMap(({ idle, busy }) => [...idle, ...busy]);
  // Node's own knows nothing of connections that were taken over, but a server waits for them.
  server.closeAllConnections = () => all().forEach(({ socket }) => socket.destroy());
  server.on("timeout", (socket: Socket) => {
    // A quiet log may be followed forever.
    const isQuiet = socket.writableLength === 0 && (find(socket)?.requests ?? 0) > 0;
    if (!isQuiet) socket.destroy();
  });
  return (socket) => {
    const connection = find(socket);
    return {
      peer: peerOf(socket.remoteAddress),
      trust: (isTrusted) => connection && change(connection, () => connection.isTrusted = isTrusted),
    };
  };
}

type Group = { idle: Set<Connection>; busy: Set<Connection> };

const newGroup = (): Group => ({ idle: new Set(), busy: new Set() });
const sizeOf = ({ idle, busy }: Group) => idle.size + busy.size;

function first({ idle, busy }: Group): Connection | undefined {
  return (idle.size > 0 ? idle : busy).values().next().value;
}

function largest(groups: Map<string, Group>): Group {
  return [...groups.values()].reduce(
    (most, group) => sizeOf(most) >= sizeOf(group) ? most : group,
    newGroup(),
  );
}

function ensure<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The peer behind an address: of IPv6 its network of 64 bits, since one machine has as many addresses of it as it likes. */
export function peerOf(address: string | undefined): string {
  if (address === undefined) return "local";
  const plain = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "").replace(/%.*$/, "");
  return isIPv6(plain) ? addressBytes(plain).subarray(0, 8).toString("hex") : plain;
}
