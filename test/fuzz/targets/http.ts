/** Requests, as the routes see them and as bytes on a connection. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createServerApp } from "../../../src/server/app.ts";
import { createBoundedServer, defaultBounds } from "../../../src/server/listen/listen.ts";
import { reasons } from "../../../src/server/refusal.ts";
import { listeners } from "../../server/fake-agent.ts";
import { holds, type Session, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";
import { createFollowedLog, type FollowedLog } from "./followed-log.ts";
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
  "GET /apps/default/web/logs?follow=true&tailLines=5 HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "GET /apps/default/web/logs?follow HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3),
];
const requestTokens = [
  ..."tailLines= follow= since= & ? %2e%2e %00 % /../ // HTTP/1.0 HEAD PATCH".split(" "),
  "\r\n",
  ...[
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 5\r\n",
    "Host: evil\r\n",
    "Authorization: Bearer x\r\n",
    "Expect: 100-continue\r\n",
  ],
];

/** Passes requests that an HTTP parser accepts to the routes of every listener. */
const routes: Target = {
  name: "http-routes",
  covers: ["createServerApp", "readQuery", "readJSON", "checkAccess", "putApp", "requireApp"],
  samples: requests,
  tokens: requestTokens,
  maxBytes: 16_384,
  open() {
    const log = createFollowedLog();
    const apps = Object.values(listeners).map((listener) => createServerApp(listener, log.services));
    return {
      async run(input) {
        const request = requestOf(textOf(input));
        if (!request) return;
        // The listener depends only on the input: a case that runs alone uses the same one.
        const response = await apps[input.length % apps.length]!.fetch(request);
        await checkAnswer(response.status, await readBody(response, log));
        await log.checkReleased();
      },
      close: log.close,
    };
  },
};

/** Returns the body. An endless one is cut after its first bytes, or once it is clear that none come. */
async function readBody({ body }: Response, log: FollowedLog): Promise<string> {
  if (!body) return "";
  const reader = body.getReader();
  const first = reader.read();
  // A follower counts from its first read on.
  const isEndless = log.isFollowed();
  const pieces: Uint8Array[] = [];
  let piece = isEndless ? await orQuiet(first, log) : await first;
  for (; piece?.value; piece = isEndless ? undefined : await reader.read()) pieces.push(piece.value);
  if (isEndless) await reader.cancel();
  return Buffer.concat(pieces).toString("utf8");
}

/** Returns the first piece; undefined if the log is idle. */
async function orQuiet<T>(first: Promise<T>, log: FollowedLog): Promise<T | undefined> {
  const came = new AbortController();
  const piece = await Promise.race([first, log.whenWatched(came.signal)]);
  came.abort();
  return piece ?? undefined;
}

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

/** Returns the request in an HTTP text; undefined if the platform cannot represent it. */
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
    const log = createFollowedLog();
    const server = createBoundedServer(createServerApp(listeners.socket, log.services), defaultBounds);
    server.listen(path);
    await once(server, "listening");
    return {
      async run(input) {
        const text = await converse(path, input);
        await log.checkReleased();
        if (text === "") return;
        const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
        holds(status !== undefined, `answered ${JSON.stringify(text.slice(0, 100))}`);
        holds(status !== "500", `the agent could not answer: ${text.slice(0, 400)}`);
      },
      async close() {
        server.close();
        server.closeAllConnections();
        rmSync(folder, { recursive: true });
        log.close();
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
    // No more input: a reader that waits for the rest of a request sees its end.
    socket.end(input);
  });
}

export const httpTargets: readonly Target[] = [routes, bytes];
