/**
 * Asks the agent of this node through its unix socket.
 */
import { Buffer } from "node:buffer";
import { request } from "node:http";
import { errorCode } from "../lib/files.ts";

const timeoutMs = 10_000;

/** The JSON that the agent answers with; an error says why there is none, and what to do. */
export async function askAgent<T>(socketPath: string, path: string): Promise<T> {
  const { status, body } = await get(socketPath, path);
  const answer = JSON.parse(body) as T & { message?: string };
  if (status >= 400) throw new Error(answer.message ?? `the agent answered ${status}`);
  return answer;
}

function get(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, timeout: timeoutMs }, (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    call.on("timeout", () => call.destroy(new Error(`the agent at ${socketPath} does not answer`)));
    call.on("error", (cause) => reject(explain(socketPath, cause)));
    call.end();
  });
}

function explain(socketPath: string, cause: Error): Error {
  const code = errorCode(cause);
  if (code === "ENOENT" || code === "ECONNREFUSED") {
    return new Error(
      `no agent is running at ${socketPath}: start one with 'nckubelet agent', or name its socket with --socket`,
      { cause },
    );
  }
  if (code === "EACCES") {
    return new Error(`the agent's socket ${socketPath} is not yours: try again as root`, { cause });
  }
  return cause;
}
