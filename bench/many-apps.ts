/** A real agent with many apps that sleep, for benchmarks; and what to say about times. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get as getHTTP } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { startAgentProcess } from "../test/agent-process.ts";
import { waitFor } from "../test/wait-for.ts";

/** Starts an agent whose apps all run when this resolves. */
export async function startManyApps(count: number, flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), "nckubelet-bench-"));
  const shellFile = join(folder, "sleep.sh");
  await writeFile(shellFile, "#!/bin/sh\nexec sleep 3600\n", { mode: 0o755 });
  const items = Array.from({ length: count }, (_, n) => ({
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: { name: `app-${n}` },
    spec: { shellFile, cpuPCT: 5, memPCT: 5, terminationGracePeriodSeconds: 1 },
  }));
  await writeFile(join(folder, "apps.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const agent = await startAgentProcess(["--manifests", folder, "--enforce", "best-effort", ...flags]);
  await waitFor(`${count} apps run`, async () => {
    const { text } = await fetchText(`${agent.url}/metrics`);
    return text.includes(`nckubelet_apps{phase="Running"} ${count}\n`) &&
      text.split("nckubelet_app_memory_bytes{").length > count;
  }, 300_000);
  return {
    url: agent.url,
    pid: agent.pid(),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** One GET on a connection of its own, as a probe makes it: what came, and how long it took, in milliseconds. */
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

/** `median 1.2 ms, p99 4.5 ms, worst 6.7 ms of 1000`. */
export function describeTimes(times: number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms of ${sorted.length}`;
}
