import { fullFeaturesSince, renderInstallManifests } from "../../api/install/install.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { kubectlConfig } from "../cluster/cluster.ts";

/** The version of the server, or why nobody knows it. */
type ServerMinor = { minor: number } | { unknown: string };

/** Prints what a cluster is given once: the CRD, RBAC and, with an image, the scheduler. */
export const manifestsCommand: Command = {
  name: "manifests",
  summary: "Print the CRD, RBAC and, with --image, the scheduler for kubectl apply.",
  flags: {
    "server-minor": {
      kind: "text",
      value: "N",
      help: `Fit a server of version 1.N; from ${fullFeaturesSince} on it checks more by itself.`,
      default: "the server is asked",
    },
    kubeconfig: {
      kind: "text",
      value: "FILE",
      help: "Ask this API server for its version.",
      default: "kubectl's own",
    },
    server: { kind: "text", value: "URL", help: "Ask the API server at this address." },
    image: { kind: "text", value: "IMAGE", help: "Also the scheduler, as a Deployment of this image." },
  },
  examples: [
    "nckubelet manifests | kubectl apply -f -",
    "nckubelet manifests --image registry.example.com/nckubelet:0.1 | kubectl apply -f -",
    `nckubelet manifests --server-minor ${fullFeaturesSince} >manifests.yaml`,
  ],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(`manifests takes no operands, not ${JSON.stringify(invocation.args[0])}`);
    }
    const found = await serverMinor(invocation, io);
    const image = textFlag(invocation, "image");
    const notes = [
      ...("unknown" in found ? [leftOut(found.unknown)] : []),
      ...(image ? [] : ["the scheduler's Deployment is left out: --image IMAGE brings it"]),
    ];
    if (notes.length > 0) io.stderr(`nckubelet: ${notes.join("; ")}\n`);
    io.stdout(renderInstallManifests({ minor: "minor" in found ? found.minor : undefined, image }));
    return 0;
  },
};

/** A server that the flags name has to answer; kubectl's own need not, and need not be there. */
async function serverMinor(invocation: Invocation, { env }: Io): Promise<ServerMinor> {
  const [text, kubeconfig, server] = ["server-minor", "kubeconfig", "server"].map((name) =>
    textFlag(invocation, name)
  );
  if (text !== undefined) {
    if (/^\d{1,3}$/.test(text)) return { minor: Number(text) };
    throw new UsageError(`--server-minor ${JSON.stringify(text)}: the 31 of version 1.31, for example`);
  }
  if (kubeconfig || server) return await askServer({ kubeconfig, server, env });
  return await askServer({ kubeconfig: kubectlConfig(env), env }).catch(({ message }: Error) => ({
    unknown: message,
  }));
}

async function askServer(
  access: { kubeconfig?: string; server?: string; env: Io["env"] },
): Promise<ServerMinor> {
  const { connectCluster, readServerVersion } = await import("../cluster/connect.ts");
  using cluster = await connectCluster(access);
  const { minor, text } = await readServerVersion(cluster.client);
  return minor > 0 ? { minor } : { unknown: `the API server is ${text}` };
}

function leftOut(why: string): string {
  return `${why.replaceAll(/\s+/g, " ")}: these are for any server, without CEL rules, selectable fields, ` +
    `admission policies and the binding for mirrors; --server-minor N or --kubeconfig FILE brings those from ` +
    `1.${fullFeaturesSince} on`;
}
