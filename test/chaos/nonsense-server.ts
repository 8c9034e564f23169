/**
 * A small stand-in for the API server that can return invalid answers. It serves NCApps only: a list, a watch that stays open,
 * and status patches, which it ignores.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** The answer to lists; watches get "410 Gone" so that the agent has to list. */
export type Answer = (response: ServerResponse) => void;

export async function startNonsenseServer(items: () => object[]) {
  let fault: Answer | undefined;
  let lists = 0;
  const sockets = new Set<Socket>();
  const watches = new Set<ServerResponse>();

  const server = createServer((request, response) => {
    request.resume();
    if (!request.url?.includes("/ncapps")) {
      return json(response, 404, { kind: "Status", code: 404, message: "only NCApps here" });
    }
    if (request.method !== "GET") return json(response, 200, {});
    if (isWatch(request)) return watch(response);
    lists++;
    if (fault) return fault(response);
    json(response, 200, list(items()));
  });
  const watch = (response: ServerResponse) => {
    if (fault) {
      return json(response, 410, {
        kind: "Status",
        code: 410,
        reason: "Expired",
        message: "too old resource version",
      });
    }
    const object = {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { resourceVersion: "101" },
    };
    // A sign of life makes the agent retry soon after the next fault.
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
    watches.add(response.on("close", () => watches.delete(response)));
  };
  server.on("connection", (socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lists: () => lists,
    isWatched: () => watches.size > 0,
    /** Sets the answer to lists; undefined: the true list. Ends the open watch. */
    answer(next: Answer | undefined) {
      fault = next;
      for (const open of watches) open.end();
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The true list of NCApps. */
export function list(items: object[]): object {
  return {
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCAppList",
    metadata: { resourceVersion: "100" },
    items,
  };
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function isWatch({ url = "" }: IncomingMessage): boolean {
  const value = new URL(url, "http://localhost").searchParams.get("watch");
  return value === "1" || value === "true";
}
