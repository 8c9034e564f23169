/** The built agent with apps that sleep, from a manifest folder. */
import { rename, writeFile } from "node:fs/promises";
import { get as getHTTP } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { type AgentProcess, startAgentProcess } from "../test/agent-process.ts";
import { tempFolder } from "../test/temp-folder.ts";
import { waitFor } from "../test/wait-for.ts";
import { createStartedFiles, type StartedFiles } from "./started-files.ts";

export interface LocalAgent extends AsyncDisposable {
  agent: AgentProcess;
  files: StartedFiles;
  /** Gives it the apps 0 to count - 1, all at once; `spec` adds to the spec of each. */
  give(count: number, spec?: (at: number) => object): Promise<void>;
  /** Waits until the agent reports this number of running apps, with their usage. */
  settle(count: number): Promise<void>;
}

/** Starts an agent without apps; standalone unless the flags name an API server. */
export async function startLocalAgent(flags: string[] = ["--standalone"]): Promise<LocalAgent> {
  const temp = tempFolder();
  const folder = temp.path;
  const files = await createStartedFiles();
  const agent = await startAgentProcess(["--manifests", folder, "--enforce", "best-effort", ...flags]);
  return {
    agent,
    files,
    async give(count, spec = () => ({})) {
      const items = Array.from({ length: count }, (_, at) => describeApp(files, `app-${at}`, spec(at)));
      const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
      await writeFile(join(folder, ".apps.new"), list);
      await rename(join(folder, ".apps.new"), join(folder, "apps.json"));
    },
    async settle(count) {
      await waitFor(`${count} apps run and are measured`, async () => {
        const { text } = await fetchText(`${agent.url}/metrics`);
        return text.includes(`nckubelet_apps{phase="Running"} ${count}\n`) &&
          text.split("nckubelet_app_memory_bytes{").length > count;
      }, 300_000);
    },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      files[Symbol.dispose]();
      temp.remove();
    },
  };
}

function describeApp(files: StartedFiles, name: string, spec: object) {
  return {
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: { name },
    spec: {
      shellFile: files.shellFile,
      args: [files.fileOf(name)],
      terminationGracePeriodSeconds: 1,
      ...spec,
    },
  };
}

/** Sends one GET on a new connection, as a probe does; returns the answer and the time in milliseconds. */
export function fetchText(url: string): Promise<{ text: string; ms: number }> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    getHTTP(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => text += chunk).on("error", reject);
      response.on("end", () => resolve({ text, ms: performance.now() - start }));
    }).on("error", reject);
  });
}
