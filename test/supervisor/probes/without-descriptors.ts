/**
 * Makes one probe of each kind in a process that has no descriptor left, and prints what came of them.
 * Arguments: the folder of a run, a port that is open.
 */
import { openSync } from "node:fs";
import process from "node:process";
import { performProbe } from "../../../src/supervisor/probes/perform.ts";

const [runFolder = "", port = ""] = process.argv.slice(2);
const times = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 20,
  successThreshold: 1,
  failureThreshold: 3,
};
const probes = [
  { exec: { command: ["true"] } },
  { tcpSocket: { port } },
  { httpGet: { path: "/", port, scheme: "HTTP" as const } },
];
const probeAll = () =>
  Promise.all(
    probes.map((probe) =>
      performProbe({ ...times, ...probe }, { ports: undefined, runFolder }).then(
        ({ ok }) => String(ok),
        (error) => `thrown: ${error.message}`,
      )
    ),
  );

const before = await probeAll();
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // That was the last one.
}
console.log(JSON.stringify({ before, without: await probeAll() }));
