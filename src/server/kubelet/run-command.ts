/** `/run`: a command inside of an app, without streams: the answer is what it prints. */
import { execInRun } from "../../supervisor/run/run.ts";
import { Refusal } from "../refusal.ts";
import {
  holderOf,
  type KubeletContext,
  requireContainer,
  requireEntry,
  requireRun,
  reserve,
} from "./context.ts";
import type { KubeletServices } from "./services.ts";
import { reserved } from "./stream-memory.ts";

const timeoutMs = 60_000;
const captureBytes = 1 << 20;

/** Runs `cmd`, whose words are separated by spaces, as the kubelet does. A command that fails is a 500 with its output. */
export async function runCommand(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const found = requireContainer(context, services);
  const run = requireRun(found);
  await requireEntry(context, found, services);
  const command = (context.req.query("cmd") ?? "").split(" ").filter(Boolean);
  if (command.length === 0) throw new Refusal(400, "query parameter cmd: Required value");
  if (command.some((word) => word.includes("\0"))) {
    throw new Refusal(400, "query parameter cmd: has a NUL byte");
  }
  const { launcher, limits } = services;
  const leave = reserve(limits, holderOf(context, found), reserved.run);
  const { code, signal, timedOut, output } = await execInRun(run.folder, command, {
    timeoutMs,
    captureBytes,
    launcher,
    pid: found.status.pid,
    end: context.req.raw.signal,
  }).finally(leave);
  if (timedOut) {
    throw new Refusal(500, `the command did not end in ${timeoutMs / 1000} s: ${output.slice(0, 2000)}`);
  }
  if (code !== 0) {
    throw new Refusal(500, `the command ended with ${signal ?? `status ${code}`}: ${output.slice(0, 2000)}`);
  }
  return context.text(output);
}
