/**
 * Performs one probe of each mechanism in a process that is out of descriptors, and prints the results.
 * Arguments: the folder of a run, a port that is open, the path of the launcher.
 */
import { openSync } from "node:fs";
import process from "node:process";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { performProbe } from "../../../src/supervisor/probes/perform-probe.ts";

const [runFolder = "", port = "", path = ""] = process.argv.slice(2);
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
      performProbe({ ...times, ...probe }, { ports: undefined, runFolder, launcher: entranceOf(path) }).then(
        ({ ok }) => String(ok),
        (error) => `thrown: ${error.message}`,
      )
    ),
  );

const before = await probeAll();
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // Out of descriptors.
}
console.log(JSON.stringify({ before, without: await probeAll() }));
