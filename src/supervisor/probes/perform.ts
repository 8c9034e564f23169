/**
 * Makes one probe of whatever kind.
 */
import type { DefaultedProbe, DefaultedSpec } from "../../api/types.ts";
import { type InsideResult, LostWayInError, runInside } from "../run/run.ts";
import { bareHost } from "./host.ts";
import { probeHttp } from "./http-get.ts";
import type { ProbeResult } from "./result.ts";
import { probeTcp } from "./tcp-socket.ts";

/** Where the probed app is: its ports by name, and the folder of its run. */
export interface ProbedApp {
  ports: DefaultedSpec["ports"];
  runFolder: string;
}

const nodeItself = "127.0.0.1";
const keptOutput = 1024;

/** Performs the probe's one mechanism. */
export async function performProbe(probe: DefaultedProbe, app: ProbedApp): Promise<ProbeResult> {
  const timeoutMs = probe.timeoutSeconds * 1000;
  const { exec, httpGet, tcpSocket } = probe;
  if (exec) return await probeExec(exec.command, app.runFolder, timeoutMs);
  const target = httpGet ?? tcpSocket;
  if (!target) return { ok: false, message: "the probe has no mechanism" };
  const port = portNumber(target.port, app.ports);
  if (port === undefined) return { ok: false, message: `no port is called ${JSON.stringify(target.port)}` };
  const host = bareHost(target.host || nodeItself);
  if (!httpGet) return await probeTcp({ host, port }, timeoutMs);
  const { path, scheme, httpHeaders = [] } = httpGet;
  return await probeHttp({ host, port, path: path || "/", scheme, headers: httpHeaders }, timeoutMs);
}

async function probeExec(command: string[], runFolder: string, timeoutMs: number): Promise<ProbeResult> {
  try {
    const result = await runInside(runFolder, command, { timeoutMs, captureBytes: keptOutput });
    return judgeCommand(command, result, timeoutMs);
  } catch (error) {
    // Only a restart of the app mends this, so that it is the app's failure.
    if (error instanceof LostWayInError) return { ok: false, message: error.message };
    throw error;
  }
}

function judgeCommand(
  [file]: string[],
  { code, timedOut, output }: InsideResult,
  timeoutMs: number,
): ProbeResult {
  const name = `command ${JSON.stringify(file)}`;
  if (timedOut) return { ok: false, message: `${name} did not end in ${timeoutMs / 1000} s` };
  return { ok: code === 0, message: output.trim() || `${name} ended with status ${code}` };
}

function portNumber(port: string | number, ports: DefaultedSpec["ports"]): number | undefined {
  if (/^\d+$/.test(String(port))) return Number(port);
  return ports?.find(({ name }) => name === port)?.port;
}
