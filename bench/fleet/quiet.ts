/** Decides whether a fleet has come to rest, from the windows of time in which it was observed. Pure. */

/** What happened in one of several windows of the same length. */
export interface Window {
  seconds: number;
  /** Requests of the agents other than heartbeats. */
  requests: number;
  /** CPU seconds of the API server. */
  apiServer: number;
}

/** Requests per agent and second of a quiet fleet: watches end after some minutes, and are opened again. */
const quietRate = 1 / 30;
/** CPUs that a quiet API server may use: by itself, and for each agent. A server that still digests thousands of starts uses more. */
const quietCpu = { itself: 0.15, perAgent: 0.003 };
/** A fall by less than this share, or by less than this part of a CPU, is noise. */
const noise = { share: 0.15, cpus: 0.02 };

/** Reports whether requests and CPU time are low in the last two windows, and the CPU time no longer falls. */
export function isQuiet(windows: readonly Window[], agents: number): boolean {
  const [before, last] = windows.slice(-2);
  if (!before || !last) return false;
  const isLow = ({ seconds, requests, apiServer }: Window) =>
    requests / seconds <= Math.max(1, agents * quietRate) &&
    apiServer / seconds <= quietCpu.itself + agents * quietCpu.perAgent;
  const fall = before.apiServer / before.seconds - last.apiServer / last.seconds;
  return isLow(before) && isLow(last) &&
    fall <= Math.max(noise.cpus, noise.share * before.apiServer / before.seconds);
}
