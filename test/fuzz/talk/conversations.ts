/** Conversations with the agent's servers, each of which follows from its seed: polite, rude, slow, cut, huge, and many at once. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTLS } from "node:tls";
import { sleep } from "../../../src/lib/sleep.ts";
import type { Random } from "../../random.ts";
import type { Opened } from "./server.ts";
import { type Ports, SpdyTalker } from "./spdy-talker.ts";

export interface Place extends Opened {
  ports: Ports;
}

/** How long one conversation may take; those that do nothing take all of it. */
const longestMs = 3000;

/** Holds one conversation, as long as it takes, and leaves. Whatever the server does with it is fine. */
export async function converse(
  random: Random,
  place: Place,
  about: readonly string[] = subjects(),
): Promise<void> {
  const talk = conversations[random.pick(about)]!;
  const done = new AbortController();
  const timer = setTimeout(() => done.abort(), longestMs);
  const sockets: Socket[] = [];
  const open = async (where: number | string, tls: boolean) => {
    // Not the address of those whose streams have to live.
    const localAddress = `127.0.0.${random.integer(2, 5)}`;
    const address = typeof where === "string"
      ? { path: where }
      : { port: where, host: "127.0.0.1", localAddress };
    const raw = connect(address).on("error", () => {});
    sockets.push(raw);
    const socket = tls ? connectTLS({ socket: raw, rejectUnauthorized: false }) : raw;
    socket.on("error", () => {});
    if (!random.oneIn(4)) socket.resume();
    await once(socket, tls ? "secureConnect" : "connect", { signal: done.signal });
    return socket;
  };
  try {
    await talk(random, { place, open, signal: done.signal });
  } catch {
    // The server has closed it, or the time is over.
  } finally {
    clearTimeout(timer);
    for (const socket of sockets) socket.destroy();
  }
}

interface Talk {
  place: Place;
  /** Connects with a port, or the path of a socket. */
  open(where: number | string, tls: boolean): Promise<Socket>;
  signal: AbortSignal;
}

const hello = Buffer.from(`1603010200010001fc0303${"00".repeat(500)}`, "hex");
const head = (lines: string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const upgrade = (path: string, token: string, protocol: string) =>
  head([
    `POST ${path} HTTP/1.1`,
    "Host: node",
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    `Authorization: Bearer ${token}`,
    `X-Stream-Protocol-Version: ${protocol}`,
  ]);
const paths = [
  "/",
  "/healthz",
  "/apps",
  "/apps/default/web/logs?follow=true",
  "/metrics",
  "/pods",
  "/%00",
  "//[",
];

/** The streams that each query asks for, which the client opens. */
const streamsOf: Record<string, string[]> = {
  "output=1&error=1": ["error", "stdout", "stderr"],
  "output=1&input=1": ["error", "stdin", "stdout"],
  "output=1&input=1&tty=1": ["error", "stdin", "stdout", "resize"],
};

const manifest = { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", metadata: { name: "web" } };
const bodies = [
  () => Buffer.from(JSON.stringify({ ...manifest, spec: { shellFile: "/opt/web.sh" } })),
  () => Buffer.from(JSON.stringify({ ...manifest, spec: { shellFile: 1, unknown: {} } })),
  () => Buffer.from(JSON.stringify({ ...manifest, spec: { shellFile: "x".repeat(2_000_000) } })),
  () => Buffer.from(`${"[".repeat(50_000)}`),
  () => Buffer.from('{"__proto__":{"a":1}'),
  () => Buffer.alloc(0),
];

/** The names of all conversations. */
export const subjects = () => Object.keys(conversations);

const conversations: Record<string, (random: Random, talk: Talk) => Promise<void>> = {
  async portForward(random, { place, open, signal }) {
    const socket = await open(place.kubelet, true);
    socket.write(upgrade("/portForward/default/web", "good", "portforward.k8s.io"));
    const talker = new SpdyTalker(random, place.ports);
    const steps = random.pick([3, 30, 300]);
    for (let step = 0; step < steps && socket.writable; step++) {
      await send(random, socket, talker.legal(), signal);
    }
    if (!random.oneIn(3)) await send(random, socket, talker.illegal(), signal);
    if (random.oneIn(2)) await sleep(random.below(longestMs), signal);
  },
  async manyPortForwards(random, { place, open, signal }) {
    const talkers = Array.from({ length: random.integer(5, 40) }, async () => {
      const socket = await open(place.kubelet, true);
      socket.write(upgrade("/portForward/default/web", "good", "portforward.k8s.io"));
      const talker = new SpdyTalker(random, place.ports);
      for (let step = 0; step < 20 && socket.writable; step++) {
        await send(random, socket, talker.legal(), signal);
      }
      await sleep(random.below(1000), signal);
    });
    await Promise.allSettled(talkers);
  },
  async exec(random, { place, open, signal }) {
    const socket = await open(place.kubelet, true);
    const query = random.pick(Object.keys(streamsOf));
    const command = random.pick([["cat"], ["yes"], ["sleep", "600"], [
      "sh",
      "-c",
      "head -c 99999 /dev/zero; exit 3",
    ]]);
    const words = command.map((word) => `&command=${encodeURIComponent(word)}`).join("");
    const protocol = random.pick(["v4.channel.k8s.io", "v5.channel.k8s.io"]);
    const path = random.oneIn(4)
      ? `attach/default/web/app?${query}`
      : `exec/default/web/app?${query}${words}`;
    socket.write(upgrade(`/${path}`, "good", protocol));
    const talker = new SpdyTalker(random, place.ports);
    // Some clients forget a stream, and wait.
    const types = streamsOf[query]!.slice(random.oneIn(6) ? 1 : 0);
    await send(random, socket, talker.command(types), signal);
    for (let step = random.pick([3, 30, 300]); step > 0 && socket.writable; step--) {
      await send(random, socket, talker.legal(), signal);
    }
    if (random.oneIn(3)) await send(random, socket, talker.illegal(), signal);
    if (random.oneIn(2)) await sleep(random.below(longestMs), signal);
  },
  async runCommand(random, { place, open, signal }) {
    const socket = await open(place.kubelet, true);
    const command = random.pick(["id", "true", "false", "yes", "sleep 600", "cat"]).replace(" ", "%20");
    const lines = [
      `POST /run/default/web/app?cmd=${command} HTTP/1.1`,
      "Host: node",
      "Authorization: Bearer good",
    ];
    await send(random, socket, Buffer.from(head([...lines, "Content-Length: 0"])), signal);
    await sleep(random.below(longestMs), signal);
  },
  async followers(random, { place, open, signal }) {
    for (let at = random.integer(1, 8); at > 0; at--) {
      const isLocal = random.oneIn(2);
      const socket = await open(isLocal ? place.socket : place.kubelet, !isLocal);
      const path = isLocal
        ? random.pick([
          "/apps?watch=true",
          "/apps/default/web?watch=true",
          "/apps/default/web/logs?follow=true",
        ])
        : "/containerLogs/default/web/app?follow=true";
      const lines = [`GET ${path} HTTP/1.1`, "Host: localhost", "Authorization: Bearer good"];
      socket.write(head(lines));
    }
    await sleep(random.below(longestMs), signal);
  },
  async socketHttp(random, { place, open, signal }) {
    const socket = await open(place.socket, false);
    for (let at = random.integer(1, 20); at > 0 && socket.writable; at--) {
      const body = random.pick(bodies)();
      const method = random.pick(["PUT", "PUT", "DELETE", "POST", "GET"]);
      const path = random.pick([
        ...paths,
        "/apps/default/web",
        "/apps/default/web?dryRun=All",
        "/apps/default/web/restart",
      ]);
      const told = random.oneIn(5) ? random.pick([0, 1, 2 ** 31, -1, body.length + 1]) : body.length;
      const length = random.oneIn(6) ? "Transfer-Encoding: chunked" : `Content-Length: ${told}`;
      const lines = [
        `${method} ${path} HTTP/1.1`,
        "Host: localhost",
        "Content-Type: application/json",
        length,
      ];
      await send(random, socket, Buffer.concat([Buffer.from(head(lines)), body]), signal);
    }
    await sleep(random.below(longestMs), signal);
  },
  async halfOpenTLS(random, { place, open, signal }) {
    for (let at = random.integer(1, 60); at > 0; at--) {
      const socket = await open(place.kubelet, false);
      socket.write(hello.subarray(0, random.below(hello.length)));
    }
    await sleep(random.below(longestMs), signal);
  },
  async junkTokens(random, { place, open, signal }) {
    const socket = await open(place.kubelet, true);
    for (let at = random.integer(1, 100); at > 0 && socket.writable; at--) {
      const token = `junk-${random.below(1_000_000)}`;
      const lines = [`GET ${random.pick(paths)} HTTP/1.1`, "Host: node", `Authorization: Bearer ${token}`];
      await send(random, socket, Buffer.from(head(lines)), signal);
    }
    await sleep(random.below(1000), signal);
  },
  async plainHttp(random, { place, open, signal }) {
    const socket = await open(place.local, false);
    for (let at = random.integer(1, 20); at > 0 && socket.writable; at--) {
      const lines = [`GET ${random.pick(paths)} HTTP/1.1`, `Host: ${random.pick(["localhost", "evil", ""])}`];
      const text = random.oneIn(4) ? lines.join("\r\n") : head(lines);
      await send(random, socket, Buffer.from(text), signal);
    }
    await sleep(random.below(longestMs), signal);
  },
  async noise(random, { place, open, signal }) {
    const isTLS = random.oneIn(2);
    const socket = await open(isTLS ? place.kubelet : place.local, isTLS);
    const bytes = Buffer.from(Array.from({ length: random.integer(1, 5000) }, () => random.below(256)));
    await send(random, socket, bytes, signal);
    socket.end();
    await sleep(random.below(500), signal);
  },
};

/** Sends bytes whole, cut somewhere, or drop by drop; never more than the other side takes. */
async function send(random: Random, socket: Socket, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const size = random.pick([bytes.length, bytes.length, bytes.length, random.integer(1, bytes.length), 7]);
  // Drops of a large message would take all the time.
  const pieces = size === 7 && bytes.length > 500 ? 500 : size;
  for (let at = 0; at < bytes.length && socket.writable; at += pieces) {
    if (!socket.write(bytes.subarray(at, at + pieces))) await once(socket, "drain", { signal });
    if (pieces < bytes.length && random.oneIn(10)) await sleep(1, signal);
  }
}
