import { fullFeaturesSince, renderInstallManifests } from "../api/install-manifests.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "./command.ts";

/** Prints what a cluster is given once: the CRD, RBAC and, with an image, the scheduler. */
export const manifestsCommand: Command = {
  name: "manifests",
  summary: "Print the CRD, RBAC and, with --image, the scheduler for kubectl apply.",
  flags: {
    "server-minor": {
      kind: "text",
      value: "N",
      help: `Fit a server of version 1.N; from ${fullFeaturesSince} on it checks more by itself.`,
      default: "any server",
    },
    kubeconfig: { kind: "text", value: "FILE", help: "Ask the API server for its version." },
    server: { kind: "text", value: "URL", help: "Ask the API server at this address." },
    image: { kind: "text", value: "IMAGE", help: "Also the scheduler, as a Deployment of this image." },
  },
  examples: [
    "nckubelet manifests | kubectl apply -f -",
    "nckubelet manifests --kubeconfig ~/.kube/config --image registry.example.com/nckubelet:0.1 | kubectl apply -f -",
  ],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(`manifests takes no operands, not ${JSON.stringify(invocation.args[0])}`);
    }
    const minor = await serverMinor(invocation, io);
    io.stdout(renderInstallManifests({ minor, image: textFlag(invocation, "image") }));
    return 0;
  },
};

async function serverMinor(invocation: Invocation, io: Io): Promise<number | undefined> {
  const [text, kubeconfig, server] = ["server-minor", "kubeconfig", "server"].map((name) =>
    textFlag(invocation, name)
  );
  if (text !== undefined) {
    if (/^\d{1,3}$/.test(text)) return Number(text);
    throw new UsageError(`--server-minor ${JSON.stringify(text)}: the 31 of version 1.31, for example`);
  }
  if (!kubeconfig && !server) return undefined;
  const { connectCluster, readServerVersion } = await import("./cluster-client.ts");
  using cluster = await connectCluster({ kubeconfig, server, env: io.env });
  return (await readServerVersion(cluster.client)).minor;
}
