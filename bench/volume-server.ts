/**
 * A stand-in for an API server with very many NCApps, in a separate process: it only provides volume, and costs next to nothing
 * itself. It lists in pages as a real one does, refuses field selectors as servers before 1.31 do, and holds watches open.
 * `node bench/volume-server.ts COUNT OWN NODE SHELLFILE FOLDER [pages]` prints its port; OWN of the COUNT are bound to NODE.
 * `POST /burst?count=N` sends N changes of other nodes' apps into every watch, and then a new app "last" of NODE.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";

const [countWord, ownWord, node = "", shellFile = "", folder = "", how = "stream"] = process.argv.slice(2);
const [count, own] = [Number(countWord), Number(ownWord)];
const every = Math.floor(count / own);
const apiVersion = "app.example.com/v1alpha1";
const watches = new Set<ServerResponse>();

const server = createServer((request, response) => {
  request.resume();
  const url = new URL(request.url ?? "/", "http://localhost");
  const query = url.searchParams;
  if (url.pathname === "/burst") return void burst(Number(query.get("count"))).then(() => response.end());
  if (!url.pathname.includes("/ncapps")) return answer(response, 404, status(404, "only NCApps here"));
  if (request.method !== "GET") return answer(response, 200, JSON.stringify(app(0)));
  if (query.has("fieldSelector")) {
    return answer(response, 400, status(400, "field label not supported: spec.nodeName"));
  }
  if (query.has("sendInitialEvents")) return void stream(response);
  if (isWatch(query)) return hold(response);
  void list(response, Number(query.get("limit") ?? count), Number(query.get("continue") ?? 0));
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

async function list(response: ServerResponse, limit: number, from: number): Promise<void> {
  const to = Math.min(count, from + (limit || count));
  const metadata = { resourceVersion: "1000000", ...(to < count ? { continue: String(to) } : {}) };
  response.writeHead(200, { "content-type": "application/json" });
  response.write(
    `{"apiVersion":"${apiVersion}","kind":"NCAppList","metadata":${JSON.stringify(metadata)},"items":[`,
  );
  for (let at = from; at < to; at++) {
    const more = response.write((at > from ? "," : "") + JSON.stringify(app(at)));
    if (!more) await once(response, "drain");
  }
  response.end("]}");
}

/** Sends all objects and then their end; with `pages` it rejects that, as servers before 1.27 do. */
async function stream(response: ServerResponse): Promise<void> {
  if (how === "pages") {
    return answer(response, 422, status(422, "resourceVersionMatch is forbidden for watch"));
  }
  response.writeHead(200, { "content-type": "application/json" });
  for (let at = 0; at < count; at++) {
    if (!response.write(line("ADDED", app(at)))) await once(response, "drain");
  }
  const annotations = { "k8s.io/initial-events-end": "true" };
  const metadata = { resourceVersion: "1000000", annotations };
  response.write(line("BOOKMARK", { apiVersion, kind: "NCApp", metadata }));
  watches.add(response.on("close", () => watches.delete(response)));
}

function hold(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.write(line("BOOKMARK", { apiVersion, kind: "NCApp", metadata: { resourceVersion: "1000001" } }));
  watches.add(response.on("close", () => watches.delete(response)));
}

async function burst(events: number): Promise<void> {
  const block = Array.from({ length: 1000 }, (_, at) => line("MODIFIED", app(at * every + 1, "1000002")))
    .join("");
  await Promise.all([...watches].map(async (watch) => {
    for (let sent = 0; sent < events; sent += 1000) if (!watch.write(block)) await once(watch, "drain");
    watch.write(line("ADDED", describe("last", count, node, "1000003")));
  }));
}

function app(at: number, version = "999999"): object {
  const isOwn = at % every === 0 && at / every < own;
  return describe(`app-${at}`, at, isOwn ? node : `node-${at % 5000}`, version);
}

/** About as large as an object that a server and two clients have written. */
function describe(name: string, at: number, nodeName: string, resourceVersion: string): object {
  const uid = `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const fields = {
    "f:spec": { "f:shellFile": {}, "f:args": {}, "f:cpuPCT": {}, "f:memPCT": {}, "f:nodeName": {} },
  };
  const time = "2026-01-01T00:00:00Z";
  return {
    apiVersion,
    kind: "NCApp",
    metadata: {
      name,
      namespace: "default",
      uid,
      resourceVersion,
      generation: 1,
      creationTimestamp: time,
      managedFields: ["kubectl", "nckubelet"].map((manager) => ({
        manager,
        operation: "Update",
        apiVersion,
        time,
        fieldsType: "FieldsV1",
        fieldsV1: fields,
      })),
    },
    spec: { shellFile, args: [`${folder}/${name}`], cpuPCT: "5", memPCT: "5", nodeName },
    status: {
      phase: "Running",
      ready: true,
      pid: 1000 + at,
      processes: 1,
      startTime: time,
      restarts: 0,
      cpuPCT: "0.1",
    },
  };
}

function isWatch(query: URLSearchParams): boolean {
  return ["1", "true"].includes(query.get("watch") ?? "");
}

function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function status(code: number, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, message });
}

function answer(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { "content-type": "application/json" }).end(body);
}
