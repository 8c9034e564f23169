/** A whole agent in the process of the test, with real apps, and the way to ask it. */
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { type RunningAgent, startAgent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { manifest } from "../builders.ts";
import { builtLauncher } from "../harness/launcher.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A request through the agent's socket. */
export function ask(socketPath: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const call = request({ socketPath, method, path, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => text += chunk).on("error", reject);
      response.on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Starts an agent on a temporary folder; at the end of the block it ends with all its apps. */
export async function startLocalAgent(fields: Partial<AgentOptions> = {}) {
  await builtLauncher();
  const temp = tempFolder();
  const folder = temp.path;
  const socket = join(folder, "agent.sock");
  const options: AgentOptions = {
    version: "1.2.3",
    nodeName: "node-a",
    stateDir: join(folder, "state"),
    logDir: join(folder, "log"),
    listen: "127.0.0.1:0",
    openLoopback: true,
    socket,
    standalone: true,
    registerNode: "never",
    pods: "never",
    reserved: { cpuPCT: 0, memPCT: 0 },
    instance: `test-${folder.slice(-6).toLowerCase()}`,
    enforce: "best-effort",
    logs: { maxBytes: 10 << 20, maxFiles: 5 },
    syncPeriodMs: 10_000,
    reportPeriodMs: 10_000,
    maxApps: 100,
    stopAppsOnExit: false,
    stopTimeoutMs: 20_000,
    env: {},
    log: silentLogger,
    ...fields,
  };
  let agent: RunningAgent = await startAgent(options);
  const local = {
    folder,
    options,
    url: () => agent.addresses.find((address) => address.startsWith("http")) ?? "",
    addresses: () => agent.addresses,
    view: () => agent.view,
    ask: (method: string, path: string, body?: unknown) => ask(socket, method, path, body),
    async script(name: string, text: string) {
      const path = join(folder, name);
      await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return path;
    },
    put: (name: string, spec: NCAppSpec) => ask(socket, "PUT", `/apps/default/${name}`, manifest(name, spec)),
    async get(name: string): Promise<NCApp | undefined> {
      const { status, text } = await ask(socket, "GET", `/apps/default/${name}`);
      return status === 200 ? JSON.parse(text) : undefined;
    },
    reach: (name: string, what: string, isThere: (app: NCApp) => boolean) =>
      waitFor(`${name}: ${what}`, async () => {
        const app = await local.get(name);
        return app && isThere(app) ? app : undefined;
      }),
    /** Ends the agent and starts another one on the same state; the apps run on. */
    async replace(between = async () => {}) {
      await agent.close();
      await between();
      agent = await startAgent(options);
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
      await (await startAgent({ ...options, stopAppsOnExit: true })).close();
      temp.remove();
    },
  };
  return local;
}
