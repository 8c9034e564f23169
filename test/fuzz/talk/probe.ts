/**
 * Asks servers for their health again and again, each time on a new connection, in a process that does nothing else: what the fuzzer
 * computes does not count. Two agents are asked in turn, one under attack and one that is not, so that a busy machine slows both down.
 */
import { once } from "node:events";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { sleep } from "../../../src/lib/sleep.ts";
import type { Opened } from "./server.ts";

export interface Asked {
  attacked: Opened;
  quiet: Opened;
}
/** Milliseconds until each answer was read. */
export type Answers = Record<keyof Asked, number[]>;
export type Report = { answers: Answers } | { problem: string };

/** A server that answers later than this does not answer. */
const answerMs = 10_000;

const [agents] = await once(process, "message") as [Asked];
const answers: Answers = { attacked: [], quiet: [] };
const send = (report: Report) => process.send?.(report);
process.on("message", () => send({ answers }));
process.on("disconnect", () => process.exit());

for (;;) {
  for (const which of ["quiet", "attacked"] as const) {
    for (const where of ["local", "kubelet"] as const) {
      try {
        answers[which].push(await ask(agents[which], where));
      } catch (error) {
        send({ problem: `/healthz of the ${which} agent, ${where}: ${(error as Error).message}` });
        await once(process, "disconnect");
      }
    }
  }
  await sleep(20);
}

async function ask(opened: Opened, where: "local" | "kubelet"): Promise<number> {
  const options = { host: "127.0.0.1", path: "/healthz", agent: false as const, timeout: answerMs };
  const headers = { authorization: "Bearer good" };
  const start = performance.now();
  const call = where === "local"
    ? request({ ...options, port: opened.local })
    : secureRequest({ ...options, port: opened.kubelet, headers, rejectUnauthorized: false });
  call.on("timeout", () => call.destroy(new Error(`no answer in ${answerMs} ms`)));
  const [response] = await once(call.end(), "response");
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  await once(response.resume(), "end");
  return performance.now() - start;
}
