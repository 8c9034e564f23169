/** Addresses and tokens that the agent's listeners receive, and answers of probed apps. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { parseAddress } from "../../../src/lib/special-addresses.ts";
import { isLoopbackHost } from "../../../src/server/listen/listen.ts";
import { parseTokens } from "../../../src/server/listen/token-file.ts";
import { probeHttp } from "../../../src/supervisor/probes/http-probe.ts";
import { holds, oneLine, type Session, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";

const addresses: Target = {
  name: "addresses",
  covers: ["parseAddress", "isLoopbackHost"],
  samples: ["127.0.0.1:10268", "[::1]:80", "localhost", "LOCALHOST:1", "[::ffff:127.0.0.1]:9", "0.0.0.0:0"],
  tokens: ["[", "]", ":", "127.", "::1", "localhost", "%", "@", "#", "/", "0x7f"],
  maxBytes: 1024,
  refusal: { name: "Error", says: /is not an address/, maxLength: 7000 },
  open: () => ({
    run(input) {
      const text = textOf(input);
      if (isLoopbackHost(text) && URL.canParse(`http://${text}/`)) {
        const { hostname } = new URL(`http://${text}/`);
        holds(
          /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(hostname),
          `${text} is ${hostname}`,
        );
      }
      const { host, port } = parseAddress(text);
      holds(host !== "" && Number.isInteger(port) && port >= 0 && port <= 65_535, `${host} and ${port}`);
    },
  }),
};

const tokens: Target = {
  name: "token-file",
  covers: ["parseTokens"],
  samples: ["# readers\nhunter2hunter2hunter2\n\nabcdefghijklmnopqrstuvwxyz\n", "0123456789abcdef"],
  tokens: ["#", "\n", "\r\n", "\t"],
  refusal: { name: "Error", says: /^--token-file \/tokens:/ },
  open: () => ({
    run(input) {
      try {
        for (const token of parseTokens(textOf(input), "/tokens")) {
          holds(token.length >= 16 && !/\s/.test(token), "a token that nobody could send");
        }
      } catch (error) {
        holds(!(error as Error).message.includes("hunter2"), "an error shows a token");
        throw error;
      }
    },
  }),
};

const probes: Target = {
  name: "probe-answer",
  covers: ["probeHttp"],
  samples: [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 302 Found\r\nLocation: http://evil/\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.0 204 No Content\r\n\r\n",
  ],
  tokens: [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "\r\n",
    "\n",
    "200",
    "Content-Length: 9\r\n",
  ],
  maxBytes: 32_768,
  async open(): Promise<Session> {
    let answer: Uint8Array = new Uint8Array();
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      open.add(socket);
      socket.on("error", () => {}).on("close", () => open.delete(socket));
      socket.once("data", () => socket.end(answer));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      async run(input) {
        answer = input;
        const target = { host: "127.0.0.1", port, path: "/", scheme: "HTTP" as const, headers: [] };
        const { ok, message } = await probeHttp(target, 20_000);
        oneLine(message, "the message of a probe");
        holds(!message.includes("no answer in"), "a probe waited to its end");
        if (ok) {
          holds(
            /HTTP\/1\.[01] [23]\d\d/.test(textOf(input)),
            "a probe passed without an answer that says so",
          );
        }
      },
      close() {
        server.close();
        for (const socket of open) socket.destroy();
      },
    };
  },
};

export const serverTargets: readonly Target[] = [addresses, tokens, probes];
