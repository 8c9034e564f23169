/** Performs one probe, by its mechanism. */
import { type DefaultedActionOf, type Mechanism, mechanismOf } from "../../api/probe-mechanisms.ts";
import type { DefaultedProbe, DefaultedSpec } from "../../api/types.ts";
import type { Entrance } from "../launcher/launcher.ts";
import { probeExec } from "./exec-probe.ts";
import { probeHttp } from "./http-probe.ts";
import type { ProbeResult } from "./probe-result.ts";
import { resolveTarget } from "./probe-target.ts";
import { probeTcp } from "./tcp-probe.ts";

/** What a probe needs to know about the app: its ports by name, the folder of its run and its main process; and what enters it. */
export interface ProbedApp {
  ports: DefaultedSpec["ports"];
  runFolder: string;
  launcher: Entrance;
  pid?: number;
}

type Perform<M extends Mechanism> = (
  action: DefaultedActionOf<M>,
  app: ProbedApp,
  timeoutMs: number,
) => Promise<ProbeResult>;

/** The compiler rejects a mechanism of the schema that is missing here. */
const performers: { readonly [M in Mechanism]: Perform<M> } = {
  exec: ({ command }, app, timeoutMs) => probeExec(command, app, timeoutMs),
  httpGet: async (action, { ports }, timeoutMs) => {
    const target = resolveTarget(action, ports);
    if (!target) return unknownPort(action.port);
    const { path, scheme, httpHeaders = [] } = action;
    return await probeHttp({ ...target, path: path || "/", scheme, headers: httpHeaders }, timeoutMs);
  },
  tcpSocket: async (action, { ports }, timeoutMs) => {
    const target = resolveTarget(action, ports);
    return target ? await probeTcp(target, timeoutMs) : unknownPort(action.port);
  },
};

/** Performs the probe's mechanism once. Throws only if the node could not do so. */
export async function performProbe(probe: DefaultedProbe, app: ProbedApp): Promise<ProbeResult> {
  const mechanism = mechanismOf(probe);
  if (!mechanism) return { ok: false, message: "the probe has no mechanism that this agent knows" };
  return await performAs(mechanism, probe[mechanism]!, app, probe.timeoutSeconds * 1000);
}

function performAs<M extends Mechanism>(
  mechanism: M,
  action: DefaultedActionOf<M>,
  app: ProbedApp,
  timeoutMs: number,
): Promise<ProbeResult> {
  return performers[mechanism](action, app, timeoutMs);
}

function unknownPort(port: string | number): ProbeResult {
  return { ok: false, message: `no port is named ${JSON.stringify(port)}` };
}
