/** What comes in through the agent's doors, and what a probed app answers. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServerApp } from "../../../src/server/app.ts";
import { createBoundedServer, defaultBounds } from "../../../src/server/bounded-server.ts";
import { isLoopbackHost, parseAddress } from "../../../src/server/listen.ts";
import { reasons } from "../../../src/server/refusal.ts";
import { parseTokens } from "../../../src/server/token-file.ts";
import { probeHttp } from "../../../src/supervisor/probes/http-get.ts";
import { doors, servicesWith } from "../../server/fake-agent.ts";
import { holds, oneLine, type Session, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";
import { scratchFolder } from "./scratch.ts";

const body = JSON.stringify({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: { name: "web" },
  spec: { shellFile: "/x.sh", cpuPCT: "10" },
});
const requests = [
  "GET /apps/default/web/logs?tailLines=10&follow=false HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "GET /readyz?verbose HTTP/1.1\r\nHost: localhost:10268\r\nAuthorization: Bearer good\r\n\r\n",
  `PUT /apps/default/web HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  "DELETE /apps/default/web HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "GET /history?since=5 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
  "POST /apps/default/web/restart HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "GET /apps/default/web HTTP/1.1\r\nHost: localhost\r\n\r\n",
];
const requestTokens = [
  ...[
    "tailLines=",
    "follow=",
    "since=",
    "&",
    "?",
    "%2e%2e",
    "%00",
    "%",
    "/../",
    "//",
    "HTTP/1.0",
    "HEAD",
    "PATCH",
    "\r\n",
  ],
  ...[
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 5\r\n",
    "Host: evil\r\n",
    "Authorization: Bearer x\r\n",
    "Expect: 100-continue\r\n",
  ],
];

/** Requests that a parser of HTTP lets through, given to the routes of every door. */
const routes: Target = {
  name: "http-routes",
  covers: ["createServerApp", "readQuery", "readJSON", "checkAccess", "putApp", "requireApp"],
  samples: requests,
  tokens: requestTokens,
  maxBytes: 16_384,
  open() {
    const apps = Object.values(doors).map((door) => createServerApp(door, servicesWith()));
    let turn = 0;
    return {
      async run(input) {
        const request = requestOf(textOf(input));
        if (!request) return;
        const response = await apps[turn++ % apps.length]!.fetch(request);
        await checkAnswer(response.status, await response.text());
      },
    };
  },
};

async function checkAnswer(status: number, text: string): Promise<void> {
  holds(status !== 500, `the agent could not answer: ${text.slice(0, 200)}`);
  if (status < 400 || text === "" || !text.startsWith("{")) return;
  const { kind, code, reason, message } = JSON.parse(text);
  holds(
    kind === "Status" && code === status && reason === reasons[status as keyof typeof reasons],
    `answered ${text.slice(0, 200)}`,
  );
  holds(
    typeof message === "string" && message.length < 40_000,
    "a Status without a message of a sane length",
  );
}

/** The request in a text of HTTP; undefined where there is none that the platform can hold. */
function requestOf(text: string): Request | undefined {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...fields] = head.split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  try {
    const headers = new Headers();
    for (const field of fields) {
      const colon = field.indexOf(":");
      headers.append(field.slice(0, colon), field.slice(colon + 1).trim());
    }
    const bodyText = rest.join("\r\n\r\n");
    const hasBody = method !== "GET" && method !== "HEAD" && bodyText !== "";
    return new Request(`http://localhost${path}`, {
      method,
      headers,
      ...(hasBody ? { body: bodyText } : {}),
    });
  } catch {
    return undefined;
  }
}

/** Bytes on a real connection. */
const bytes: Target = {
  name: "http-bytes",
  covers: ["createBoundedServer", "answerNonsense"],
  samples: requests,
  tokens: requestTokens,
  maxBytes: 32_768,
  async open(): Promise<Session> {
    const folder = scratchFolder("http");
    const path = join(folder, "s");
    const server = createBoundedServer(createServerApp(doors.socket, servicesWith()), defaultBounds);
    server.listen(path);
    await once(server, "listening");
    return {
      async run(input) {
        const text = await converse(path, input);
        if (text === "") return;
        const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
        holds(status !== undefined, `answered ${JSON.stringify(text.slice(0, 100))}`);
        holds(status !== "500", `the agent could not answer: ${text.slice(0, 400)}`);
      },
      async close() {
        server.close();
        server.closeAllConnections();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

function converse(path: string, input: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(path);
    socket.setEncoding("latin1").on("data", (chunk) => text += chunk);
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
    // No more comes: whoever waits for the rest of a request sees its end.
    socket.end(input);
  });
}

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

export const serverTargets: readonly Target[] = [routes, bytes, addresses, tokens, probes];
