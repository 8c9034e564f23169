/** Talks SPDY by a model of the connection's state: it knows which frame is legal now, and sends others on purpose. */
import { Buffer } from "node:buffer";
import { constants, deflateRawSync } from "node:zlib";
import { encodeControl, encodeDataHead } from "../../../src/server/spdy/frames.ts";
import { formatHeaders, HeaderWriter } from "../../../src/server/spdy/header-block.ts";
import type { Random } from "../../random.ts";

/** Ports of this machine, by what listens there. */
export interface Ports {
  echo: number;
  flood: number;
  deaf: number;
  closed: number;
}

export class SpdyTalker {
  readonly #random: Random;
  readonly #ports: Ports;
  readonly #writer = new HeaderWriter();
  #next = 1;
  #requests = 0;
  #open: number[] = [];
  #isCommand = false;

  constructor(random: Random, ports: Ports) {
    this.#random = random;
    this.#ports = ports;
  }

  /** Opens the streams of a command, which then has no others. */
  command(types: readonly string[]): Uint8Array {
    this.#isCommand = true;
    return Buffer.concat(types.map((streamType) => this.#synStream({ streamType })));
  }

  /** The bytes of the next step: one or more frames that the protocol allows now. */
  legal(): Uint8Array {
    const random = this.#random;
    const stream = this.#open.length > 0 ? random.pick(this.#open) : undefined;
    const opening = [
      () => this.#pair(),
      () => this.#stream("error", this.#requests++),
      () => this.#burst(),
    ];
    const steps: (() => Uint8Array)[] = [
      ...(this.#isCommand ? [] : opening),
      () => encodeControl({ type: "ping", id: 2 * random.below(1000) + 1 }),
      () => encodeControl({ type: "settings", initialWindow: random.pick([0, 1, 65_536, 0x7fffffff]) }),
      () => encodeControl({ type: "windowUpdate", stream: 0, delta: random.integer(1, 100_000) }),
    ];
    if (stream !== undefined) {
      steps.push(
        () => this.#data(stream, random.pick([0, 1, 100, 5000, 100_000]), random.oneIn(8)),
        () => this.#tinyData(stream),
        () => encodeControl({ type: "windowUpdate", stream, delta: random.integer(1, 100_000) }),
        () => encodeControl({ type: "headers", stream, fin: false, block: this.#block({ a: "1" }) }),
        () => this.#reset(stream),
        () => this.#data(stream, 0, true),
        () => this.#line(stream, JSON.stringify({ Width: random.below(300), Height: random.below(100) })),
      );
    }
    return random.pick(steps)();
  }

  /** The bytes of a step that the protocol does not allow now; nothing legal follows. */
  illegal(): Uint8Array {
    const random = this.#random;
    const unknown = this.#next + 2 * random.below(1000);
    const block = this.#block({ streamType: "data" });
    const syn = { type: "synStream", fin: false, unidirectional: false } as const;
    return random.pick<() => Uint8Array>([
      () => repeat(2000, () => encodeControl({ type: "headers", stream: unknown, fin: false, block })),
      () => encodeControl({ ...syn, stream: 2 * random.below(100), block }),
      () => encodeControl({ ...syn, stream: 1, block }),
      () => encodeControl({ ...syn, stream: unknown, block: bomb() }),
      () => encodeControl({ ...syn, stream: unknown, block: randomBytes(random, 2000) }),
      () => encodeControl({ ...syn, stream: unknown, block: Buffer.alloc(200_000) }),
      () => encodeControl({ type: "reset", stream: unknown, status: 5 }),
      () => encodeControl({ type: "windowUpdate", stream: unknown, delta: 1 }),
      () => encodeControl({ type: "windowUpdate", stream: 0, delta: 0x7fffffff }),
      () => encodeControl({ type: "synReply", stream: 1, fin: false, block }),
      () => encodeDataHead(unknown, 16_000_000, true),
      () => encodeDataHead(0, 5, true),
      () => randomBytes(random, random.integer(1, 5000)),
      () => repeat(5000, () => Buffer.from("8003006300000000", "hex")),
      () => Buffer.from("800300040000000c0000ffff0000000700010000", "hex"),
    ])();
  }

  #block(headers: Record<string, string>): Uint8Array {
    return this.#writer.write(new Map(Object.entries(headers)));
  }

  #stream(streamType: "data" | "error", requestID: number): Uint8Array {
    const port = String(this.#random.pick(Object.values(this.#ports)));
    const padding = this.#random.oneIn(4) ? "x".repeat(this.#random.below(3500)) : "";
    return this.#synStream({ streamType, port, requestID: String(requestID), padding });
  }

  #synStream(headers: Record<string, string>): Uint8Array {
    const stream = this.#next;
    this.#next += 2;
    this.#open.push(stream);
    const block = this.#block(headers);
    return encodeControl({ type: "synStream", stream, fin: false, unidirectional: false, block });
  }

  #pair(): Uint8Array {
    const id = this.#requests++;
    return Buffer.concat([this.#stream("error", id), this.#stream("data", id)]);
  }

  /** Opens and resets many streams: legal, and too eager. */
  #burst(): Uint8Array {
    return repeat(this.#random.integer(2, 60), () => {
      const opened = this.#stream(this.#random.pick(["data", "error"]), this.#requests++);
      return Buffer.concat([opened, this.#reset(this.#open.at(-1)!)]);
    });
  }

  #reset(stream: number): Uint8Array {
    this.#open = this.#open.filter((each) => each !== stream);
    return encodeControl({ type: "reset", stream, status: 5 });
  }

  #data(stream: number, length: number, isLast: boolean): Uint8Array {
    if (isLast) this.#open = this.#open.filter((each) => each !== stream);
    return Buffer.concat([encodeDataHead(stream, length, isLast), Buffer.alloc(length, 120)]);
  }

  #line(stream: number, text: string): Uint8Array {
    const bytes = Buffer.from(`${text}\n`);
    return Buffer.concat([encodeDataHead(stream, bytes.length, false), bytes]);
  }

  #tinyData(stream: number): Uint8Array {
    return repeat(this.#random.integer(1, 2000), () => this.#data(stream, 1, false));
  }
}

function repeat(count: number, make: () => Uint8Array): Uint8Array {
  return Buffer.concat(Array.from({ length: count }, make));
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

/** A few bytes that become megabytes. */
function bomb(): Uint8Array {
  const text = formatHeaders(new Map([["a", "x".repeat(2_000_000)]]));
  return deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
}
