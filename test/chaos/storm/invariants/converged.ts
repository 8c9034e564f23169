import type { NCApp } from "../../../../src/api/types.ts";
import type { Evidence, Invariant } from "../evidence.ts";
import { contestedPort, kinds } from "../kinds.ts";
import type { StormApp } from "../ledger.ts";

/** Every app is in its desired state, and the API server shows it. */
export const converged: Invariant = {
  name: "every app converges",
  judge: (evidence) => [
    ...evidence.apps.flatMap((app) => {
      const object = evidence.objects.find(({ metadata }) => metadata.uid === app.uid);
      const complaint = object ? complain(app, object, evidence) : "is not in the API server";
      return complaint ? [`${app.name}: ${complaint}`] : [];
    }),
    ...evidence.objects.filter(({ metadata }) => !evidence.apps.some(({ uid }) => uid === metadata.uid))
      .map(({ metadata }) => `${metadata.name}: is in the API server, but nobody wants it`),
  ],
};

function complain(app: StormApp, object: NCApp, evidence: Evidence): string | undefined {
  const { spec, status } = object;
  const processes = evidence.live.filter(({ uid }) => uid === app.uid);
  const phase = `${status?.phase} (${status?.reason}) with ${processes.length} processes`;
  if (!spec.nodeName) return mayWait(app, evidence) ? undefined : `is not bound: ${phase}`;
  if (app.suspended) {
    const rests = status?.reason === "Suspended" && processes.length === 0;
    return rests ? undefined : `is suspended, but ${phase}`;
  }
  switch (kinds[app.kind].rest) {
    case "runs": {
      if (status?.phase !== "Running" || processes.length === 0) return phase;
      const stray = processes.find(({ node }) => node !== spec.nodeName);
      return stray && `is bound to ${spec.nodeName}, but runs on ${stray.node}`;
    }
    case "cycles":
      return status?.phase && ["Starting", "Running", "BackOff"].includes(status.phase) ? undefined : phase;
    case "ends":
      return status?.phase === "Succeeded" || status?.phase === "Failed" ? undefined : phase;
  }
}

/** An app may wait if every node has assigned its port to another app. */
function mayWait({ kind }: StormApp, { objects, nodes }: Evidence): boolean {
  if (!kinds[kind].spec.ports) return false;
  const holders = objects.filter(({ spec }) =>
    spec.nodeName && spec.ports?.some(({ port }) => port === contestedPort)
  );
  return holders.length >= nodes.length;
}
