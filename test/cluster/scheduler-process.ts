/**
 * A scheduler in a separate process, for SIGSTOP and SIGCONT: `scheduler-process.ts KUBECONFIG IDENTITY [quick]`.
 * With `quick`, the election takes a fifth of the usual time.
 */
import process from "node:process";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient } from "../../src/kube/client/client.ts";
import { createLogger } from "../../src/lib/log.ts";
import { runController } from "../../src/controller/controller.ts";

const [kubeconfig, identity = "", election] = process.argv.slice(2);
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort());
const client = createKubeClient(await loadAccess({ kubeconfig }), { maxInFlight: 24 });
await runController({
  names: ["scheduler"],
  client,
  identity,
  version: "test",
  log: createLogger({ write: (line) => console.log(line) }),
  schedulerName: "nc-scheduler",
  policy: "spread",
  leaderElect: true,
  // One at a time, so that a bind is always in flight when the process is stopped.
  maxBindsInFlight: 1,
  election: election === "quick" ? { leaseSeconds: 3, renewDeadlineMs: 2000, retryMs: 300 } : {},
}, stopping.signal);
client.close();
