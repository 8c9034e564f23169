/** Opens a TCP connection and closes it. An open connection is success. */
import { connect } from "node:net";
import { probeConnection, type ProbeResult } from "./probe-result.ts";
import { authority, bareHost, type ProbeTarget } from "./probe-target.ts";

/** Connects once and waits `timeoutMs` at most. Throws only if the node could not try. */
export function probeTcp({ host, port }: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  return probeConnection(
    `dial tcp ${authority(host, port)}`,
    timeoutMs,
    (finish) => connect({ host: bareHost(host), port }, () => finish(true, "connected")),
  );
}
